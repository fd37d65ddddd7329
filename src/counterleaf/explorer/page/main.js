// The explorer: one state, one question at a time, everything else follows from the answer.

import { get, post } from "./api.js";
import { patterns } from "./classes.js";
import { Compare, Kept, summary } from "./compare.js";
import { byId, button, download, fill } from "./dom.js";
import { Image } from "./image.js";
import { Lines } from "./lines.js";
import { Plane } from "./plane.js";
import { Settings } from "./settings.js";
import { decode, opening, same } from "./state.js";
import { Steps } from "./steps.js";
import { drawTree } from "./tree.js";
import { Asked, tellAnswer, tellTrouble } from "./verdict.js";

const page = { scenes: [], rows: new Map(), tab: "explore", answer: null, answered: null };
const kept = new Kept();
const sceneOf = (key) => page.scenes.find((scene) => scene.key === key);
const rowOf = (state) => page.rows.get(`${state.scene}/${state.row}`);
const steps = new Steps((state) =>
  arrive(state ?? decode(location.hash, page.scenes) ?? opening(page.scenes[0]), { typed: state === null }),
);
const settings = new Settings(byId("settings"), change);
const compare = new Compare(byId("compare"), kept, showStep, write);
const plane = new Plane(byId("plane"), () => drawView());

/** The state was changed on the page; `live` while a hand is still on a slider or a brush. */
function change(state, live = false) {
  if (!live) steps.push(state);
  arrive(state, { live });
}

/**
 * Show a state: by a change, or by a step back or forward; `typed` if it came with the address alone.
 * The question that it replaces is withdrawn, unless a hand is still on a slider: there the answers on the way are of use.
 */
async function arrive(state, { typed = false, live = false } = {}) {
  if (!live && state !== page.state) page.question?.abort();
  page.state = state;
  if (typed) steps.start(state);
  if (page.scene !== sceneOf(state.scene)) enter(sceneOf(state.scene));
  if (rowOf(state)) tellRow();
  await ask();
}

/** Everything that depends on the scene alone. */
function enter(scene) {
  page.scene = scene;
  page.answer = page.answered = null;
  fill(
    byId("scenes"),
    page.scenes.map((one) =>
      button(one.title, () => change(opening(one)), { "aria-pressed": String(one === scene), title: one.about }),
    ),
  );
  page.asked = new Asked(scene, change, seek);
  page.view = new (scene.shape ? Image : Lines)(scene, change);
  fill(byId("explore"), page.view.node);
  settings.build(scene);
  plane.build(scene, null);
  byId("tab-plane").hidden = Boolean(scene.shape); // two pixels of many tell nothing
  if (scene.shape && page.tab === "plane") open("explore");
  document.title = `${scene.title} · counterleaf`;
}

/** Everything that shows the question; a row that is not there is not shown. */
function tellRow() {
  const { state, answer, answered } = page;
  const row = rowOf(state);
  const sameRow = answered && answered.scene === state.scene && answered.row === state.row && same(answered.edits, state.edits);
  page.asked.update(state, sameRow ? answer.label : (row?.label ?? "?"));
  settings.update(state);
  byId("explore").inert = !row;
  if (row) page.view.update(state, row, answer);
  byId("undo").disabled = steps.at <= 0;
  byId("redo").disabled = steps.at >= steps.list.length - 1;
  const is = kept.has(steps.list[steps.at]?.hash);
  byId("keep").setAttribute("aria-pressed", String(is));
  byId("keep").textContent = is ? "★ Kept" : "☆ Keep";
}

/** Ask about the state; while one answer is on its way only the latest state waits behind it. */
async function ask() {
  if (page.asking) return;
  page.asking = true;
  let asked = null;
  const slow = setTimeout(() => document.body.classList.add("asking"), 150); // quick answers do not flicker
  while (asked !== page.state) {
    asked = page.state;
    try {
      if (!rowOf(asked))
        page.rows.set(
          `${asked.scene}/${asked.row}`,
          await get(`/api/scenes/${encodeURIComponent(asked.scene)}/rows/${asked.row}`),
        );
      page.question = new AbortController();
      const answer = await post("/api/answer", asked, page.question.signal);
      if (asked.scene !== page.state.scene) continue;
      [page.answer, page.answered] = [answer, asked];
      steps.record(asked, summary(answer));
      kept.refresh(steps.list[steps.at]);
      tellRow();
      tellAnswer(page.state, answer, change);
      note("");
    } catch (error) {
      if (asked !== page.state) continue;
      page.answer = page.answered = null; // the last answer was to another question
      tellRow();
      tellTrouble(error.message);
    }
  }
  page.asking = false;
  clearTimeout(slow);
  document.body.classList.remove("asking");
  document.body.dataset.answered = String(Number(document.body.dataset.answered ?? 0) + 1);
  drawView();
}

/** The view of the tab that is open, where it needs more than the answer; a question that is overtaken is withdrawn. */
async function drawView() {
  page.drawing?.abort();
  if (page.tab === "compare") compare.update(page.scene, steps);
  if (!page.answer) return wipe();
  const { state } = page;
  const { signal } = (page.drawing = new AbortController());
  try {
    if (page.tab === "tree") {
      if (!byId("tree").hasChildNodes()) byId("tree").textContent = "Drawing …";
      const drawn = await post("/api/tree", state, signal);
      drawTree(byId("tree"), page.scene, drawn);
    } else if (page.tab === "plane" && plane.pair) {
      const [across, up] = plane.pair;
      if (across === up) return plane.tell("Choose two different numbers.");
      plane.draw(await post("/api/plane", { question: state, across, up }, signal));
    }
  } catch (error) {
    if (error.name === "AbortError") return;
    wipe();
    note(error.message);
  }
}

/** No drawing of another question stands. */
function wipe() {
  fill(byId("tree"));
  plane.tell("");
}

/** Go to the next row in a direction, if asked for the next of which the model says something. */
async function seek(way, says) {
  const { scene, row } = page.state;
  const query = new URLSearchParams({ start: Math.max(0, row + way), way, ...(says ? { says } : {}) });
  try {
    const found = await get(`/api/scenes/${encodeURIComponent(scene)}/find?${query}`);
    if (found.row === null || row + way < 0 || found.row === row) note("There is no further row of that kind.");
    else {
      page.rows.set(`${scene}/${found.row}`, found);
      change({ ...page.state, row: found.row, edits: {} });
    }
  } catch (error) {
    note(error.message);
  }
}

function showStep(step) {
  const at = steps.list.findIndex((one) => one?.hash === step.hash);
  if (at >= 0) steps.go(at);
  else change(step.state);
  open("explore");
}

/** Hand out the question shown, or several steps, as a file. */
async function write(format, some) {
  try {
    const file = await post("/api/export", { format, questions: some ? some.map((step) => step.state) : [page.state] });
    download(file.name, file.type, file.text);
    note(`Saved ${file.name}.`);
  } catch (error) {
    note(error.message);
  }
}

function note(text) {
  byId("note").textContent = text;
}

function open(name) {
  page.tab = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const own = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(own));
    tab.tabIndex = own ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !own;
  }
  if (name === "plane" && page.answer) plane.build(page.scene, page.answer);
  drawView();
}

function listen() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  for (const tab of tabs) {
    tab.addEventListener("click", () => open(tab.getAttribute("aria-controls")));
    tab.addEventListener("keydown", (event) => {
      const shown = tabs.filter((one) => !one.hidden);
      const at = shown.indexOf(tab);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: shown.length - 1 }[event.key];
      if (to === undefined) return;
      shown.at(to % shown.length).focus();
      shown.at(to % shown.length).click();
    });
  }
  byId("undo").addEventListener("click", () => steps.go(steps.at - 1));
  byId("redo").addEventListener("click", () => steps.go(steps.at + 1));
  byId("keep").addEventListener("click", () => {
    kept.toggle(steps.list[steps.at]);
    tellRow();
    drawView();
  });
  for (const choice of document.querySelectorAll("#export [data-format]")) {
    choice.addEventListener("click", () => {
      byId("export").open = false;
      write(choice.dataset.format);
    });
  }
  byId("link").addEventListener("click", async () => {
    byId("export").open = false;
    await navigator.clipboard.writeText(location.href).then(
      () => note("The link is copied: it holds the whole question, for this browser and while the command runs."),
      () => note("Copy the address of this page: it holds the whole question."),
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
  if (location.search) history.replaceState(history.state, "", location.pathname + location.hash); // the token is spent
  listen();
  try {
    page.scenes = await get("/api/scenes");
  } catch (error) {
    byId("sentence").textContent = error.message;
    return;
  }
  const state = decode(location.hash, page.scenes) ?? opening(page.scenes[0]);
  const strange = location.hash && !decode(location.hash, page.scenes);
  steps.start(state);
  await arrive(state);
  if (strange) note("The link does not fit the models that are open here; this is the first of them.");
}

start();
