// The comparison: one column per step with its new settings and its cheapest answer.

import { button, displayName, fill, h } from "../../lib/dom.js";
import { MAX_STEPS } from "../../lib/kept_steps.js";
import { drawDifference, drawImage } from "../../lib/pixels.js";
import { same } from "../../lib/state.js";

const FORMATS = { html: "Page to print", csv: "CSV", json: "JSON with proofs" };
const IMAGE_SIDE = 72; // screen pixels

export class Comparison {
  /** `tools.showStep(step)` goes to a step, `tools.exportSteps(format, steps)` downloads some of them. */
  constructor(scene, change, { steps, kept, showStep, exportSteps }) {
    Object.assign(this, { scene, steps, kept, exportSteps, show: showStep, onlyKept: false, node: h("div", {}) });
  }

  update() {
    const { scene, steps } = this;
    const all = this.onlyKept ? this.kept.list : steps.list.filter(Boolean);
    const shown = all.filter((step) => step.result && step.state.scene === scene.key);
    const checkbox = h("input", {
      type: "checkbox",
      id: "only-kept",
      checked: this.onlyKept,
      onchange: () => ((this.onlyKept = checkbox.checked), this.update()),
    });
    const exported = shown.slice(-MAX_STEPS);
    const bar = h(
      "div",
      { class: "above" },
      h("label", { class: "check", for: "only-kept" }, checkbox, "only kept steps ★"),
      shown.length > 0 &&
        h(
          "span",
          { class: "group" },
          exported.length < shown.length ? `Export the last ${MAX_STEPS}: ` : "Export these steps: ",
          Object.entries(FORMATS).map(([format, label]) => button(label, () => this.exportSteps(format, exported))),
        ),
    );
    const empty = this.onlyKept ? "Nothing of this model is kept yet. “Keep” keeps the selected option." : "No steps yet.";
    fill(this.node, bar, shown.length ? this.table(scene, shown, steps) : h("p", {}, empty));
  }

  table(scene, shown, steps) {
    const rows = [
      tableRow("settings", shown, (step, previous) =>
        h("td", { class: "news" }, step ? describeNews(step, previous).map((text) => h("div", {}, text)) : ""),
      ),
      ...(scene.shape ? imageRows(scene, shown) : featureRows(scene, shown)),
      tableRow("cost", shown, (step) => h("td", {}, step ? (step.result.way?.effort.cost ?? "–") : ""), "summary"),
      tableRow("model says", shown, (step) => h("td", {}, step ? labelOf(step.result) : shown[0].result.source.label), "summary"),
    ];
    const headings = shown.map((step, k) => this.heading(step, k, scene, steps));
    return h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Comparison of the steps" },
      h(
        "table",
        { class: "compare" },
        h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "col" }, "source"), headings)),
        h("tbody", {}, rows),
      ),
    );
  }

  heading(step, k, scene, steps) {
    const kept = this.kept.has(step);
    return h(
      "th",
      { scope: "col", class: step.hash === steps.current?.hash ? "to here" : "to" },
      h("span", { class: "rank" }, `${k + 1}`),
      button("show", () => this.show(step), { "aria-label": `show step ${k + 1}` }),
      button(kept ? "★" : "☆", () => (this.kept.toggle(step), this.update()), {
        "aria-label": `keep step ${k + 1}`,
        "aria-pressed": String(kept),
      }),
    );
  }
}

/** A row of the table; `cell(step, previous)` makes the cell of a step, and of the source for null. */
const tableRow = (title, shown, cell, kind = "") =>
  h(
    "tr",
    { class: kind },
    h("th", { scope: "row", class: "name" }, title),
    cell(null),
    shown.map((step, k) => cell(step, shown[k - 1])),
  );

function featureRows(scene, shown) {
  const changeOf = (step, name) => step.result.way?.changes.find(({ feature }) => feature === name);
  return scene.features
    .map(({ name }) => [name, shown.map((step) => changeOf(step, name)).find(Boolean)?.from])
    .filter(([, source]) => source !== undefined)
    .map(([name, source]) =>
      tableRow(displayName(name), shown, (step) =>
        step ? changeCell(step.result, changeOf(step, name), source) : h("td", {}, source),
      ),
    );
}

function imageRows(scene, shown) {
  const first = shown[0].result.image;
  const bestOf = (step) => step?.result.image?.answers[0];
  const image = (step) => {
    if (!step) return drawImage(first, first.source, scene.shape, IMAGE_SIDE);
    return bestOf(step) && drawImage(step.result.image, bestOf(step), scene.shape, IMAGE_SIDE);
  };
  const difference = (step) => bestOf(step) && drawDifference(step.result.image, 0, scene.shape, IMAGE_SIDE);
  return [
    tableRow("image", shown, (step) => h("td", {}, image(step))),
    tableRow("difference", shown, (step) => h("td", {}, difference(step))),
  ];
}

function labelOf({ way, status }) {
  if (way) return `${way.label}${way.confirmed ? " ✓" : " ✗"}`;
  return status === "limit" ? "none found in time" : "no such row";
}

function changeCell(result, change, source) {
  if (!result.way) return h("td", {}, "");
  if (!change) return h("td", { class: "unchanged" }, "=");
  const { direction, to } = change;
  const [kind, sign] = !direction ? ["other", "→"] : direction > 0 ? ["up", "▲"] : ["down", "▼"];
  return h("td", { class: `to ${kind}` }, change.from === source ? `${sign} ${to}` : `${change.from} ${sign} ${to}`);
}

/** The differences between the question of a step and that of the step before. */
function describeNews(step, previous) {
  const [now, before] = [step.result.settings, previous?.result.settings ?? []];
  const out = [
    ...now.filter((setting) => !before.includes(setting)).map((setting) => `+ ${setting}`),
    ...before.filter((setting) => !now.includes(setting)).map((setting) => `− ${setting}`),
  ];
  const [a, b] = [step.state, previous?.state];
  if (!b || a.row !== b.row) out.unshift(`row ${a.row}`);
  if (!same(a.edits, b?.edits ?? {})) out.push(`edited: ${Object.keys(a.edits).map(displayName).join(", ") || "nothing"}`);
  if (!b || !same(a.target, b.target)) out.push(`target: ${a.target.join(" or ") || "anything else"}`);
  if (!b || a.cost !== b.cost || a.spread !== b.spread) out.push(a.cost === "Q" ? "cost Q" : `cost ${a.cost} by ${a.spread}`);
  return out.length ? out : ["no change"];
}
