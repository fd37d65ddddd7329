// The explorer: one state, one request at a time; all views follow from the answer.
//
// A view of a tab has `new View(scene, change, tools)`, its `node`, and `update(state, row, answer, selected)`, which is called
// while the tab is open: `answer` is null after an error, `selected` is the index of the selected option. A view that needs more
// than the answer requests it in `update`, and cancels the request in `pause()`: the server answers one request at a time.
// `dispose()` is called when the user opens another model. `tools` is defined below.

import { get, post } from "./lib/api.js";
import { patterns } from "./lib/class_colours.js";
import { button, byId, download, fill, h, markBusy } from "./lib/dom.js";
import { KeptSteps, summarize } from "./lib/kept_steps.js";
import { complete, decode, encode, initialState, same } from "./lib/state.js";
import { Steps } from "./lib/steps.js";
import { listenToKeys, listenToMenus, listenToTabs, listenToTheme } from "./lib/page_controls.js";
import { AnswerView } from "./views/answer/answer.js";
import { Strip } from "./views/answer/strip.js";
import { FeatureTable } from "./views/features/feature_rows.js";
import { Comparison } from "./views/pictures/compare.js";
import { ImageView } from "./views/pictures/image.js";
import { Plane } from "./views/pictures/plane.js";
import { TreeView } from "./views/pictures/tree.js";
import { QuestionBar } from "./views/question.js";
import { AllRows } from "./views/rows/all_rows.js";
import { Groups } from "./views/rows/groups.js";
import { listenToDrops, openFiles } from "./views/rows/open.js";
import { Adjust } from "./views/settings.js";

const VIEWS = { compare: Comparison, tree: TreeView, plane: Plane, rows: AllRows, groups: Groups };

const page = { scenes: [], described: new Map(), rows: new Map(), views: {}, tab: "features", selected: 0 };
const steps = new Steps((state) => {
  page.wanted = steps.current?.selected;
  if (state) show(state);
  else showAddress();
});
const kept = new KeptSteps(() => page.state && (showQuestion(), updateTab()));
const rowOf = (state) => page.rows.get(`${state.scene}/${state.row}`);

// The answer that is shown is that of `page.answeredState`. While another question is on its way, it is marked, and what acts on
// it does nothing.
const isWaiting = () => page.answeredState !== page.state;
const ANSWERS = "#answer, #bar, .prediction, [role=tabpanel]";
const ACTIONS = "#export [data-format], #ways button, #reason button, #lock-others";

/** An option of the answer, as a step to keep. */
const optionOf = (k) => ({ state: page.answeredState, hash: encode(page.answeredState), selected: k, result: summarize(page.answer, k) });

/** What a view may do in addition to changing the state. */
const tools = {
  steps,
  kept,
  notify,
  select,
  openTab,
  openScene,
  get scene() {
    return page.scene;
  },
  get state() {
    return page.state;
  },
  /** Show a step of the list or a kept one. */
  showStep(step) {
    const at = steps.list.findIndex((one) => one?.hash === step.hash);
    if (at >= 0 && at !== steps.at) steps.go(at);
    else if (at < 0) change(step.state);
    if (at === steps.at && !isWaiting()) select(step.selected ?? 0);
    else page.wanted = step.selected ?? 0;
    openTab("features");
  },
  /** Download the current question, or several steps, as a file. */
  async exportSteps(format, chosen) {
    try {
      const questions = chosen ? chosen.map((step) => step.state) : [page.answeredState];
      const options = chosen ? chosen.map((step) => step.selected ?? 0) : [];
      const file = await post("/api/export", { format, questions, kept: options });
      download(file.name, file.type, file.text);
      notify(`Saved ${file.name}.`);
    } catch (error) {
      notify(error.message);
    }
  },
  /** Keep an option of the answer for the comparison, or no longer. */
  keep(k) {
    if (!page.answer || isWaiting()) return;
    kept.toggle(optionOf(k));
    showQuestion();
    updateTab();
  },
  isKept: (k) => kept.has({ state: page.answeredState, selected: k }),
  retry: () => show({ ...page.state }),
};

const answerView = new AnswerView(byId("answer"), byId("bar"), change, tools);
const strip = new Strip(answerView.stripPlace, change);
const adjust = new Adjust(byId("adjust"), change);

/** The user changed the state; `live` is true while a slider or a brush moves. */
function change(state, live = false) {
  if (!live) steps.push(state);
  delete page.wanted; // the option of a step that was left
  show(state, live);
}

/** The description of a data set, which is loaded once. */
async function describe(key) {
  if (!page.described.has(key)) {
    if (!page.scenes.some((scene) => scene.key === key)) throw new Error(`No model “${key}” is open here.`);
    page.described.set(key, await get(`/api/scenes/${encodeURIComponent(key)}`));
  }
  return page.described.get(key);
}

/** Open a data set; one that the server added since the start is added to the list. */
async function openScene(key) {
  page.opening = key;
  try {
    if (!page.scenes.some((scene) => scene.key === key)) page.scenes = await get("/api/scenes");
    const scene = await describe(key);
    if (page.opening === key) change(initialState(scene)); // not if the user opened another one meanwhile
  } catch (error) {
    notify(error.message);
  }
}

/**
 * Show a state after a change or a move in the history. The running request is cancelled, unless the user moves a slider: then
 * the intermediate answers are useful.
 */
async function show(state, live = false) {
  if (!live && state !== page.state) page.request?.abort();
  page.front?.abort();
  page.views[page.tab]?.pause?.();
  [page.state, page.live] = [state, live];
  if (page.described.has(state.scene)) {
    enterScene(page.described.get(state.scene));
    showQuestion();
  }
  await requestAnswer();
}

/** Build the parts of the page that depend on the data set only. */
function enterScene(scene) {
  if (page.scene === scene) return;
  [page.scene, page.answer] = [scene, null];
  for (const view of Object.values(page.views)) {
    view.pause?.();
    view.dispose?.();
  }
  listScenes();
  page.questionBar = new QuestionBar(byId("question"), scene, change, { findRow, adjust });
  page.views = { features: new (scene.shape ? ImageView : FeatureTable)(scene, change, tools) };
  fill(byId("features"), page.views.features.node);
  for (const name of Object.keys(VIEWS)) fill(byId(name));
  answerView.build(scene);
  strip.build(scene);
  adjust.build(scene);
  const hidden = { tree: scene.has_tree === false, plane: Boolean(scene.shape), rows: !scene.has_table, groups: !scene.has_table };
  for (const [name, value] of Object.entries(hidden)) byId(`tab-${name}`).hidden = value;
  if (hidden[page.tab]) openTab("features");
  document.title = `${scene.title} · counterleaf`;
}

/** The models as buttons, and on narrow pages, or if there are many, as one field. */
function listScenes() {
  const select = h(
    "select",
    { "aria-label": "Model", onchange: () => openScene(select.value) },
    page.scenes.map(({ key, title }) => h("option", { value: key }, title)),
  );
  select.value = page.scene.key;
  const many = page.scenes.length > 4;
  const buttons = page.scenes.map(({ key, title, about }) =>
    button(title, () => openScene(key), { "aria-pressed": String(key === page.scene.key), title: about }),
  );
  fill(byId("scenes"), h("span", { class: many ? "" : "narrow" }, select), !many && h("span", { class: "wide" }, buttons));
}

/** Update the parts of the page that show the question. */
function showQuestion() {
  const { state, scene, answer, answeredState } = page;
  const [row, waiting] = [rowOf(state), isWaiting()];
  const sameRow = answeredState?.scene === state.scene && answeredState.row === state.row;
  for (const node of document.querySelectorAll(ANSWERS)) markBusy(node, waiting, answeredState && !sameRow);
  for (const node of document.querySelectorAll(ACTIONS)) node.setAttribute("aria-disabled", String(waiting));
  if (waiting) answerView.details.node.close();
  const says = sameRow && answer ? answer.source : Object.keys(state.edits).length ? null : row;
  const isChosen = sameRow && answer && same(answeredState.edits, state.edits); // the goal, which may depend on the values
  page.questionBar.update(state, says, row, isChosen ? answer.goal : null);
  adjust.update(state, row?.label);
  strip.update(state);
  byId("features").inert = !row || Boolean(row.problem);
  byId("features").classList.toggle("no-row", !row);
  if (page.tab === "features" && row) page.views.features.update(state, row, waiting && !sameRow ? undefined : answer, page.selected);
  if (page.tab === "rows") page.views.rows?.refresh();
  byId("undo").disabled = !steps.list[steps.at - 1];
  byId("redo").disabled = !steps.list[steps.at + 1];
  const isKept = tools.isKept(page.selected);
  byId("keep").setAttribute("aria-pressed", String(isKept));
  byId("keep").setAttribute("aria-disabled", String(waiting || !answer));
  byId("keep").firstChild.textContent = isKept ? "★ " : "☆ ";
  byId("keep").lastChild.textContent = isKept ? "Kept" : "Keep";
  answerView.showKept();
  document.body.dataset.scene = scene.key;
}

/** Load the row of a state; a row that cannot be read has empty values. */
async function loadRow({ scene, row }) {
  const key = `${scene}/${row}`;
  if (!page.rows.has(key)) {
    const loaded = await get(`/api/scenes/${encodeURIComponent(scene)}/rows/${row}`);
    const values = loaded.values ?? page.described.get(scene).features.map(() => null);
    page.rows.set(key, { ...loaded, values });
  }
  return page.rows.get(key);
}

/** Request the answer for the state; while a request is running, only the latest state waits. */
async function requestAnswer() {
  if (page.requesting) return;
  page.requesting = true;
  let state = null;
  while (state !== page.state) {
    state = page.state;
    try {
      const scene = await describe(state.scene);
      if (state !== page.state) continue;
      enterScene(scene);
      const row = await loadRow(state);
      if (state !== page.state) continue;
      if (row.problem) {
        showNoAnswer(() => answerView.showProblem(row));
        continue;
      }
      page.request = new AbortController();
      const answer = await post("/api/answer", state, page.request.signal);
      if (state === page.state || (page.live && state.scene === page.state.scene)) showAnswer(state, answer);
    } catch (error) {
      if (state === page.state) showNoAnswer(() => answerView.showError(error.message));
    }
  }
  page.requesting = false;
  document.body.dataset.answered = String(Number(document.body.dataset.answered ?? 0) + 1);
  requestAnimationFrame(() => setTimeout(afterPaint));
}

function showAnswer(state, answer) {
  page.selected = page.wanted ?? sameWay(answer, page.answer?.ways[page.selected]);
  if (page.selected >= answer.ways.length) page.selected = 0;
  delete page.wanted;
  [page.answer, page.answeredState] = [answer, state];
  steps.record(state, summarize(answer, page.selected), page.selected);
  answerView.update(state, answer, page.selected);
  showQuestion();
  if (page.live && page.tab === "plane") updateTab(); // the options follow while the row is dragged
  notify("");
}

/** The option that changes the same features as another one, otherwise the first. */
function sameWay(answer, other) {
  const features = (way) => [way.label, ...way.changes.map(({ feature }) => feature).sort()];
  return Math.max(0, other ? answer.ways.findIndex((way) => same(features(way), features(other))) : 0);
}

/** Show why no answer is shown; the last one belongs to another question. */
function showNoAnswer(showReason) {
  [page.answer, page.answeredState] = [null, page.state];
  page.selected = 0;
  showReason();
  if (page.scene) showQuestion();
}

/** Requests that may wait until the answer is visible: the open tab, the strip, and the neighbouring rows. */
async function afterPaint() {
  if (page.requesting || !page.scene) return;
  const { state, answer } = page;
  updateTab();
  if (!answer) return strip.clear();
  if (page.live) return;
  page.front?.abort();
  page.front = new AbortController();
  await strip.request(state, page.front.signal);
  if (state !== page.state || !page.scene.has_table) return;
  for (const row of [state.row + 1, state.row - 1])
    if (row >= 0 && row < page.scene.n_rows) await loadRow({ ...state, row }).catch(() => null);
}

/** Update the open tab, unless it is the table of features, which every change updates. */
function updateTab() {
  if (!(page.tab in VIEWS) || !page.scene || !rowOf(page.state)) return;
  if (isWaiting() && !page.live && page.tab !== "compare") return; // until the answer
  if (!page.views[page.tab]) {
    page.views[page.tab] = new VIEWS[page.tab](page.scene, change, tools);
    fill(byId(page.tab), page.views[page.tab].node);
  }
  page.views[page.tab].update(page.state, rowOf(page.state), page.answer, page.selected);
}

function openTab(name) {
  if (name !== page.tab) page.views[page.tab]?.pause?.();
  page.tab = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const selected = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !selected;
  }
  if (!page.scene) return;
  showQuestion();
  updateTab();
}

/** Select an option of the answer. */
function select(k) {
  if (isWaiting() || !page.answer?.ways[k]) return;
  page.selected = k;
  steps.record(page.answeredState, summarize(page.answer, k), k);
  answerView.update(page.answeredState, page.answer, k);
  showQuestion();
  updateTab();
}

/** Go to the next row in a direction for which the model says `label`. */
async function findRow(direction, label) {
  const { state } = page;
  const { scene, row } = state;
  const query = new URLSearchParams({ start: Math.max(0, row + direction), direction, label });
  try {
    const found = await get(`/api/scenes/${encodeURIComponent(scene)}/find?${query}`);
    if (state !== page.state) return; // the user went on
    if (found.row === null || found.row === row) notify("Found no further row of this kind.");
    else change({ ...state, row: found.row, edits: {} });
  } catch (error) {
    notify(error.message);
  }
}

/** Show a message for some seconds, or until the next answer. */
function notify(text) {
  clearTimeout(page.noteTimer);
  if (byId("note").textContent !== text) byId("note").textContent = text;
  if (text) page.noteTimer = setTimeout(() => notify(""), 12_000);
}

/** Copy an address that opens this question in any browser of this machine. */
async function copyLink() {
  try {
    const { token } = await post("/api/link", {});
    const address = `${location.origin}${location.pathname}?token=${encodeURIComponent(token)}${steps.current.hash}`;
    await navigator.clipboard.writeText(address).then(
      () => notify("Link copied. It opens this question in any browser of this machine, while the command runs."),
      () => prompt("Copy this link:", address),
    );
  } catch (error) {
    notify(error.message);
  }
}

function listenToTools() {
  const stop = (event) => event.target.closest?.('[aria-disabled="true"]') && (event.preventDefault(), event.stopImmediatePropagation());
  addEventListener("click", stop, true);
  byId("undo").addEventListener("click", () => steps.go(steps.at - 1));
  byId("redo").addEventListener("click", () => steps.go(steps.at + 1));
  byId("keep").addEventListener("click", () => tools.keep(page.selected));
  byId("open").addEventListener("click", () => openFiles(tools));
  listenToDrops(tools);
  byId("link").addEventListener("click", copyLink);
  for (const choice of document.querySelectorAll("#export [data-format]"))
    choice.addEventListener("click", () => tools.exportSteps(choice.dataset.format));
}

/** The state in the address, or that of the first model. */
async function stateInAddress() {
  const value = decode(location.hash);
  const linked = value && page.scenes.some((scene) => scene.key === value.scene) && complete(value, await describe(value.scene));
  const state = linked || initialState(await describe(page.scenes[0].key));
  const unknown = location.hash && !linked;
  return [state, unknown ? "The link does not match the models that are open here, so the first model is shown." : ""];
}

/** Show the question in the address, which the user entered. */
async function showAddress() {
  const [state, note] = await stateInAddress();
  steps.adopt(state);
  await show(state);
  if (note) notify(note);
}

async function start() {
  document.body.append(patterns());
  if (location.search) history.replaceState(history.state, "", location.pathname + location.hash); // the token has been used
  listenToTabs(openTab);
  listenToMenus();
  listenToTheme(byId("theme"));
  listenToKeys({ undo: () => steps.go(steps.at - 1), redo: () => steps.go(steps.at + 1), select });
  listenToTools();
  try {
    page.scenes = await get("/api/scenes");
    const [state, note] = await stateInAddress();
    steps.start(state);
    page.wanted = steps.current.selected;
    await show(state);
    if (note) notify(note);
  } catch (error) {
    answerView.showError(error.message);
  }
}

start();
