// The comparison: one card per step, with its change, its effort and what is different from the step before.

import { button, fill, h, lookUp } from "../../lib/dom.js";
import { MAX_STEPS } from "../../lib/kept_steps.js";
import { drawDifference, drawImage } from "../../lib/pixels.js";
import { same } from "../../lib/state.js";

const FORMATS = { html: "Page to print", csv: "CSV", json: "JSON with proofs" };
const IMAGE_SIDE = 96; // screen pixels
const RECENT = 12; // steps at first

export class Comparison {
  constructor(scene, change, tools) {
    Object.assign(this, { scene, tools, which: "recent" });
    this.node = h("div", { class: "compare-view" });
  }

  update() {
    const { steps, kept } = this.tools;
    const all = steps.list.filter((step) => step?.result && step.state.scene === this.scene.key);
    const own = kept.list.filter((step) => step.result && step.state.scene === this.scene.key);
    const shown = { recent: all.slice(-RECENT), all, kept: own }[this.which];
    const choices = [
      ["recent", all.length > RECENT ? `Last ${RECENT} steps` : "All steps"],
      ...(all.length > RECENT ? [["all", `All ${all.length} steps`]] : []),
      ["kept", `Kept ★ (${own.length})`],
    ];
    const empty = this.which === "kept" ? "No step of this model is kept yet. “Keep” keeps the selected option." : "No steps yet.";
    fill(
      this.node,
      h(
        "div",
        { class: "above" },
        h(
          "div",
          { class: "group", role: "group", "aria-label": "Steps to compare" },
          choices.map(([which, label]) =>
            button(label, () => ((this.which = which), this.update()), { "aria-pressed": String(this.which === which) }),
          ),
        ),
        shown.length > 0 && this.exports(shown.slice(-MAX_STEPS), shown.length),
      ),
      shown.length
        ? h(
            "ol",
            { class: "steps", start: 1 },
            shown.map((step, k) => this.card(step, shown[k - 1], this.numberOf(step, k), k)),
          )
        : h("p", {}, empty),
    );
  }

  numberOf(step, k) {
    const at = this.tools.steps.list.findIndex((one) => one?.hash === step.hash);
    return this.which === "kept" || at < 0 ? k + 1 : at + 1;
  }

  exports(steps, count) {
    return h(
      "div",
      { class: "group" },
      h("span", { class: "quiet" }, steps.length < count ? `Export the last ${MAX_STEPS}:` : "Export these:"),
      Object.entries(FORMATS).map(([format, label]) => button(label, () => this.tools.exportSteps(format, steps))),
    );
  }

  card(step, previous, number) {
    const { steps, kept, showStep } = this.tools;
    const { result, state } = step;
    const here = this.which !== "kept" && step.hash === steps.current?.hash;
    const isKept = kept.has(step);
    const toggle = () => {
      kept.toggle(step);
      this.update();
    };
    return h(
      "li",
      { class: here ? "step here" : "step", "aria-current": here ? "step" : null },
      h(
        "div",
        { class: "step-head" },
        h("strong", {}, `${this.which === "kept" ? "Kept" : "Step"} ${number}`),
        h("span", { class: "quiet" }, `${this.scene.noun} ${state.row}${Object.keys(state.edits).length ? ", edited" : ""}`),
        h(
          "span",
          { class: "group" },
          button("Show", () => showStep(step), { "aria-label": `show step ${number}` }),
          button(isKept ? "★" : "☆", toggle, { "aria-label": `keep step ${number}`, "aria-pressed": String(isKept) }),
        ),
      ),
      h("p", { class: "step-goal" }, result.source.label, " → ", h("strong", {}, result.goal?.text ?? "")),
      result.image && result.way ? this.images(result) : this.changes(result),
      result.way && effort(result.way),
      news(step, previous, this.scene),
    );
  }

  changes({ way, status }) {
    if (!way) return h("p", { class: "step-none" }, status === "limit" ? "none found in time" : "no allowed change gets there");
    if (!way.changes.length) return h("p", {}, "nothing has to change");
    return h(
      "dl",
      { class: "step-changes" },
      way.changes.map((change) => [
        h("dt", {}, change.label),
        h("dd", {}, `${change.from} `, h("span", { "aria-label": directionOf(change) }, arrowOf(change)), h("strong", {}, ` ${change.to}`)),
      ]),
    );
  }

  images({ image, way }) {
    return h(
      "div",
      { class: "pair" },
      drawImage(image, image.source, this.scene.shape, IMAGE_SIDE, "the row"),
      drawImage(image, image.answers[0], this.scene.shape, IMAGE_SIDE, `the option: ${way.label}`),
      drawDifference(image, 0, this.scene.shape, IMAGE_SIDE),
    );
  }
}

const arrowOf = ({ direction }) => (direction > 0 ? "↑" : direction < 0 ? "↓" : "→");
const directionOf = ({ direction }) => (direction > 0 ? "up to" : direction < 0 ? "down to" : "to");

function effort(way) {
  const bar = h("span", { class: "effort-bar", "aria-hidden": "true" }, h("span", {}));
  bar.firstChild.style.width = `${Math.max(2, 100 * Math.min(1, way.effort.share))}%`;
  return h(
    "div",
    { class: "step-effort" },
    bar,
    h("span", {}, way.effort.words),
    h("span", { class: way.confirmed ? "good" : "bad" }, way.confirmed ? `✓ ${way.label}, confirmed` : `✗ ${way.label}, not confirmed`),
    !way.proved && h("span", { class: "warn" }, "not proved"),
  );
}

/** The differences between a step and the one before, in its question and in its effort. */
function news(step, previous, scene) {
  const texts = describeNews(step, previous, scene);
  return h(
    "div",
    { class: "step-news quiet" },
    h("span", {}, previous ? "Since the step before:" : "Settings:"),
    h(
      "ul",
      {},
      texts.map((text) => h("li", {}, text)),
    ),
  );
}

function describeNews(step, previous, scene) {
  const [now, before] = [step.result.settings, previous?.result.settings ?? []];
  const labelOf = (name) => scene.features.find((feature) => feature.name === name)?.label ?? name;
  const [a, b] = [step.state, previous?.state];
  const out = [];
  if (b && a.row !== b.row) out.push(`another row: ${a.row}`);
  const edited = [...new Set([...Object.keys(a.edits), ...Object.keys(b?.edits ?? {})])];
  const moved = edited.filter((name) => lookUp(a.edits, name) !== lookUp(b?.edits ?? {}, name));
  if (moved.length) out.push(`edited: ${moved.map(labelOf).join(", ")}`);
  if (b && step.result.goal?.text !== previous.result.goal?.text) out.push(`goal: ${step.result.goal?.text}`);
  out.push(...now.filter((setting) => !before.includes(setting)).map((setting) => (previous ? `+ ${setting}` : setting)));
  out.push(...before.filter((setting) => !now.includes(setting)).map((setting) => `no longer: ${setting}`));
  if (b && (a.cost !== b.cost || a.spread !== b.spread)) out.push("effort is measured differently");
  if (previous?.result.way && step.result.way && out.length) out.push(effortChange(step.result.way.effort, previous.result.way.effort));
  if (out.length) return out.filter(Boolean);
  if (b && (step.selected ?? 0) !== (previous.selected ?? 0)) return ["another option of the same answer"];
  return [previous ? (same(a, b) ? "no change" : "the same result") : "none"];
}

function effortChange(now, before) {
  if (Math.abs(now.total - before.total) < 1e-9) return "the same effort";
  return now.total < before.total ? "less effort" : "more effort";
}
