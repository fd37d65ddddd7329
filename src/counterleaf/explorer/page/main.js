// The explorer: one state, one request at a time; all views follow from the answer.

import { get, post } from "./lib/api.js";
import { patterns } from "./lib/class_colours.js";
import { byId, button, download, fill } from "./lib/dom.js";
import { PinnedSteps, summarize } from "./lib/pinned_steps.js";
import { decode, initialState, same } from "./lib/state.js";
import { Steps } from "./lib/steps.js";
import { showAnswer, showError } from "./views/answer/answer.js";
import { Comparison } from "./views/pictures/compare.js";
import { FeatureTable } from "./views/features/feature_rows.js";
import { ImageView } from "./views/pictures/image.js";
import { Plane } from "./views/pictures/plane.js";
import { QuestionBar } from "./views/question.js";
import { Settings } from "./views/settings.js";
import { drawTree } from "./views/pictures/tree.js";

const page = { scenes: [], rows: new Map(), tab: "explore", answer: null, answeredState: null };
const pinned = new PinnedSteps();
const sceneOf = (key) => page.scenes.find((scene) => scene.key === key);
const rowOf = (state) => page.rows.get(`${state.scene}/${state.row}`);
const stateInAddress = () => decode(location.hash, page.scenes);
const steps = new Steps((state) =>
  show(state ?? stateInAddress() ?? initialState(page.scenes[0]), { fromAddress: state === null }),
);
const settings = new Settings(byId("settings"), change);
const comparison = new Comparison(byId("compare"), pinned, showStep, exportSteps);
const plane = new Plane(byId("plane"), () => drawTab());

/** The user changed the state; `live` is true while a slider or a brush moves. */
function change(state, live = false) {
  if (!live) steps.push(state);
  show(state, { live });
}

/**
 * Show a state after a change or a move in the history; `fromAddress` means that the state is not among the steps.
 * The running request is cancelled, unless the user moves a slider: then the intermediate answers are useful.
 */
async function show(state, { fromAddress = false, live = false } = {}) {
  if (!live && state !== page.state) page.request?.abort();
  page.state = state;
  if (fromAddress) steps.start(state);
  if (page.scene !== sceneOf(state.scene)) enterScene(sceneOf(state.scene));
  if (rowOf(state)) showQuestion();
  await requestAnswer();
}

/** Build the parts of the page that depend on the scene only. */
function enterScene(scene) {
  page.scene = scene;
  page.answer = page.answeredState = null;
  fill(
    byId("scenes"),
    page.scenes.map((one) =>
      button(one.title, () => change(initialState(one)), { "aria-pressed": String(one === scene), title: one.about }),
    ),
  );
  page.questionBar = new QuestionBar(scene, change, findRow);
  page.view = new (scene.shape ? ImageView : FeatureTable)(scene, change);
  fill(byId("explore"), page.view.node);
  settings.build(scene);
  plane.build(scene, null);
  byId("tab-plane").hidden = Boolean(scene.shape); // two pixels of an image are not informative
  if (scene.shape && page.tab === "plane") openTab("explore");
  document.title = `${scene.title} · counterleaf`;
}

/** Update the parts of the page that show the question; a row that could not be loaded is not shown. */
function showQuestion() {
  const { state, answer, answeredState } = page;
  const row = rowOf(state);
  const sameRow =
    answeredState &&
    answeredState.scene === state.scene &&
    answeredState.row === state.row &&
    same(answeredState.edits, state.edits);
  page.questionBar.update(state, sameRow ? answer.source_label : (row?.label ?? "?"));
  settings.update(state);
  byId("explore").inert = !row;
  if (row) page.view.update(state, row, answer);
  byId("undo").disabled = steps.at <= 0;
  byId("redo").disabled = steps.at >= steps.list.length - 1;
  const isPinned = pinned.has(steps.current?.hash);
  byId("pin").setAttribute("aria-pressed", String(isPinned));
  byId("pin").textContent = isPinned ? "★ Pinned" : "☆ Pin";
}

/** Request the answer for the state; while a request is running, only the latest state waits. */
async function requestAnswer() {
  if (page.requesting) return;
  page.requesting = true;
  let state = null;
  const slow = setTimeout(() => document.body.classList.add("waiting"), 150); // fast answers do not flicker
  while (state !== page.state) {
    state = page.state;
    try {
      const row = `/api/scenes/${encodeURIComponent(state.scene)}/rows/${state.row}`;
      if (!rowOf(state)) page.rows.set(`${state.scene}/${state.row}`, await get(row));
      page.request = new AbortController();
      const answer = await post("/api/answer", state, page.request.signal);
      if (state.scene !== page.state.scene) continue;
      [page.answer, page.answeredState] = [answer, state];
      steps.record(state, summarize(answer));
      pinned.refresh(steps.current);
      showQuestion();
      showAnswer(page.state, answer, change);
      notify("");
    } catch (error) {
      if (state !== page.state) continue;
      page.answer = page.answeredState = null; // the last answer belongs to another question
      showQuestion();
      showError(error.message);
    }
  }
  page.requesting = false;
  clearTimeout(slow);
  document.body.classList.remove("waiting");
  document.body.dataset.answered = String(Number(document.body.dataset.answered ?? 0) + 1);
  drawTab();
}

/** Draw the open tab if it needs more than the answer; an outdated request is cancelled. */
async function drawTab() {
  page.drawing?.abort();
  if (page.tab === "compare") comparison.update(page.scene, steps);
  if (!page.answer) return clearDrawings();
  const { state } = page;
  const { signal } = (page.drawing = new AbortController());
  try {
    if (page.tab === "tree") {
      if (!byId("tree").hasChildNodes()) byId("tree").textContent = "Drawing …";
      drawTree(byId("tree"), page.scene, await post("/api/tree", state, signal));
    } else if (page.tab === "plane" && plane.pair) {
      const [x_feature, y_feature] = plane.pair;
      if (x_feature === y_feature) return plane.showMessage("Choose two different features.");
      plane.draw(await post("/api/plane", { question: state, x_feature, y_feature }, signal));
    }
  } catch (error) {
    if (error.name === "AbortError") return;
    clearDrawings();
    notify(error.message);
  }
}

/** Remove drawings that belong to another question. */
function clearDrawings() {
  fill(byId("tree"));
  plane.showMessage("");
}

/** Go to the next row in a direction, or to the next one for which the model says `label`. */
async function findRow(direction, label) {
  const { scene, row } = page.state;
  const query = new URLSearchParams({ start: Math.max(0, row + direction), direction, ...(label ? { label } : {}) });
  try {
    const found = await get(`/api/scenes/${encodeURIComponent(scene)}/find?${query}`);
    if (found.row === null || row + direction < 0 || found.row === row) notify("Found no further row of this kind.");
    else {
      page.rows.set(`${scene}/${found.row}`, found);
      change({ ...page.state, row: found.row, edits: {} });
    }
  } catch (error) {
    notify(error.message);
  }
}

function showStep(step) {
  const at = steps.list.findIndex((one) => one?.hash === step.hash);
  if (at >= 0) steps.go(at);
  else change(step.state);
  openTab("explore");
}

/** Download the current question, or several steps, as a file. */
async function exportSteps(format, chosen) {
  try {
    const questions = chosen ? chosen.map((step) => step.state) : [page.state];
    const file = await post("/api/export", { format, questions });
    download(file.name, file.type, file.text);
    notify(`Saved ${file.name}.`);
  } catch (error) {
    notify(error.message);
  }
}

function notify(text) {
  byId("note").textContent = text;
}

function openTab(name) {
  page.tab = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const selected = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(selected));
    tab.tabIndex = selected ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !selected;
  }
  if (name === "plane" && page.answer) plane.build(page.scene, page.answer);
  drawTab();
}

function listenToTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  for (const tab of tabs) {
    tab.addEventListener("click", () => openTab(tab.getAttribute("aria-controls")));
    tab.addEventListener("keydown", (event) => {
      const visible = tabs.filter((one) => !one.hidden);
      const at = visible.indexOf(tab);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: visible.length - 1 }[event.key];
      if (to === undefined) return;
      visible.at(to % visible.length).focus();
      visible.at(to % visible.length).click();
    });
  }
}

function listenToTools() {
  byId("undo").addEventListener("click", () => steps.go(steps.at - 1));
  byId("redo").addEventListener("click", () => steps.go(steps.at + 1));
  byId("pin").addEventListener("click", () => {
    pinned.toggle(steps.current);
    showQuestion();
    drawTab();
  });
  for (const choice of document.querySelectorAll("#export [data-format]")) {
    choice.addEventListener("click", () => {
      byId("export").open = false;
      exportSteps(choice.dataset.format);
    });
  }
  byId("link").addEventListener("click", async () => {
    byId("export").open = false;
    await navigator.clipboard.writeText(location.href).then(
      () => notify("Link copied. It contains the whole question and works in this browser while the command runs."),
      () => notify("Copy the address of this page; it contains the whole question."),
    );
  });
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark =
      getComputedStyle(root).colorScheme === "dark" ||
      (root.style.colorScheme === "" && matchMedia("(prefers-color-scheme: dark)").matches);
    root.style.colorScheme = dark ? "light" : "dark";
    localStorage.setItem("counterleaf-theme", root.style.colorScheme);
  });
  document.documentElement.style.colorScheme = localStorage.getItem("counterleaf-theme") ?? "";
}

function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || /^(text|number)$/.test(event.target.type ?? "")) return;
    const key = event.key.toLowerCase();
    if (key === "z" || key === "y") {
      event.preventDefault();
      steps.go(key === "y" || event.shiftKey ? steps.at + 1 : steps.at - 1);
    }
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
  });
  addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
}

async function start() {
  document.body.append(patterns());
  if (location.search) history.replaceState(history.state, "", location.pathname + location.hash); // the token has been used
  listenToTabs();
  listenToTools();
  listenToKeys();
  try {
    page.scenes = await get("/api/scenes");
  } catch (error) {
    byId("sentence").textContent = error.message;
    return;
  }
  const linked = stateInAddress();
  const unknownLink = location.hash && !linked;
  const state = linked ?? initialState(page.scenes[0]);
  steps.start(state);
  await show(state);
  if (unknownLink) notify("The link does not match the models that are open here, so the first model is shown.");
}

start();
