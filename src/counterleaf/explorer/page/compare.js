// The steps side by side: what was asked in each, and what the cheapest answer to it changes.

import { button, fill, h, own, spoken, stored } from "./dom.js";
import { drawPicture, drawDifference } from "./picture.js";
import { isState } from "./state.js";

const STORE = "counterleaf-kept";
const MOST = 60; // steps that the server writes down at once

/** What of an answer is worth keeping beside its step. */
export function summary(answer) {
  const cells = Object.entries(answer.cells).filter(([, cell]) => cell.to[0] !== "=");
  return {
    label: answer.label,
    status: answer.status,
    best: answer.answers[0] ?? null,
    cells: Object.fromEntries(cells.map(([name, cell]) => [name, [cell.source, cell.to[0], cell.move[0]]])),
    wishes: answer.wishes,
    picture: answer.picture ? { ...answer.picture, answers: answer.picture.answers.slice(0, 1) } : null,
  };
}

/** Whether something that was stored is such a summary, also by an earlier version. */
const isResult = (given) => Boolean(given?.cells) && Array.isArray(given.wishes);

/** The steps that were kept, which outlive the tab: by the part of the address that holds them. */
export class Kept {
  constructor() {
    this.list = stored(localStorage, STORE, []).filter((step) => isResult(step?.result) && isState(step.state));
  }

  has(hash) {
    return this.list.some((step) => step.hash === hash);
  }

  /** What came out of a step that was kept before it was answered. */
  refresh(step) {
    if (this.has(step.hash)) this.save(this.list.map((one) => (one.hash === step.hash ? step : one)));
  }

  toggle(step) {
    this.save(this.has(step.hash) ? this.list.filter((one) => one.hash !== step.hash) : [...this.list, step].slice(-MOST));
  }

  save(list) {
    this.list = list;
    try {
      localStorage.setItem(STORE, JSON.stringify(this.list));
    } catch {
      localStorage.removeItem(STORE); // full: what is kept then lasts as long as the page
    }
  }
}

/** The table; `show(step)` goes to a step, `write(format, steps)` exports those shown. */
export class Compare {
  constructor(node, kept, show, write) {
    Object.assign(this, { node, kept, show, write, only: false });
  }

  update(scene, steps) {
    const all = this.only ? this.kept.list : steps.list.filter(Boolean);
    const shown = all.filter((step) => step.result && step.state.scene === scene.key);
    const only = h("input", {
      type: "checkbox",
      id: "only-kept",
      checked: this.only,
      onchange: () => ((this.only = only.checked), this.update(scene, steps)),
    });
    const some = shown.slice(-MOST);
    const formats = [
      ["html", "Page to print"],
      ["csv", "CSV"],
      ["json", "JSON with proofs"],
    ];
    const bar = h(
      "div",
      { class: "above" },
      h("label", { class: "check", for: "only-kept" }, only, "only those kept ★"),
      shown.length > 0 &&
        h(
          "span",
          { class: "group" },
          some.length < shown.length ? `Export the last ${MOST}: ` : "Export these: ",
          formats.map(([format, words]) => button(words, () => this.write(format, some))),
        ),
    );
    const empty = this.only ? "No step of this model is kept yet: “Keep” above keeps the one shown." : "No steps yet.";
    fill(this.node, bar, shown.length ? this.table(scene, shown, steps) : h("p", {}, empty));
  }

  table(scene, shown, steps) {
    const heads = shown.map((step, k) =>
      h(
        "th",
        { scope: "col", class: step.hash === steps.list[steps.at]?.hash ? "to here" : "to" },
        h("span", { class: "rank" }, `${k + 1}`),
        button("show", () => this.show(step), { "aria-label": `show step ${k + 1}` }),
        button(this.kept.has(step.hash) ? "★" : "☆", () => (this.kept.toggle(step), this.update(scene, steps)), {
          "aria-label": `keep step ${k + 1}`,
          "aria-pressed": String(this.kept.has(step.hash)),
        }),
      ),
    );
    const line = (title, cell, kind = "") =>
      h(
        "tr",
        { class: kind },
        h("th", { scope: "row", class: "name" }, title),
        cell(null),
        shown.map((step, k) => cell(step, shown[k - 1])),
      );
    const first = shown[0].result;
    const names = scene.features
      .map((feature) => feature.name)
      .filter((name) => shown.some((step) => own(step.result.cells, name)));
    const sources = Object.fromEntries(
      names.map((name) => [name, shown.map((step) => own(step.result.cells, name)?.[0]).find((text) => text !== undefined)]),
    );
    const rows = [
      line("asked", (step, before) =>
        h("td", { class: "asked" }, step ? news(step, before).map((text) => h("div", {}, text)) : ""),
      ),
    ];
    if (scene.shape) {
      rows.push(
        line("picture", (step) =>
          h(
            "td",
            {},
            step
              ? step.result.picture?.answers.length > 0 &&
                  drawPicture(step.result.picture, step.result.picture.answers[0], scene.shape, 72)
              : drawPicture(first.picture, first.picture.source, scene.shape, 72),
          ),
        ),
      );
      rows.push(
        line("difference", (step) =>
          h("td", {}, step?.result.picture?.answers.length > 0 && drawDifference(step.result.picture, 0, scene.shape, 72)),
        ),
      );
    } else {
      for (const name of names) {
        rows.push(line(spoken(name), (step) => (step ? became(step.result, name, sources[name]) : h("td", {}, sources[name]))));
      }
    }
    rows.push(line("cost", (step) => h("td", {}, step?.result.best?.cost ?? (step ? "–" : "")), "foot"));
    rows.push(
      line(
        "model says",
        (step) =>
          h(
            "td",
            {},
            step
              ? step.result.best
                ? `${step.result.best.label}${step.result.best.verified ? " ✓" : " ✗"}`
                : step.result.status === "limit"
                  ? "none found in time"
                  : "no such row"
              : first.label,
          ),
        "foot",
      ),
    );
    return h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Steps side by side" },
      h(
        "table",
        { class: "compare" },
        h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "col" }, "source"), heads)),
        h("tbody", {}, rows),
      ),
    );
  }
}

function became(result, name, source) {
  if (!result.best) return h("td", {}, "");
  if (!own(result.cells, name)) return h("td", { class: "same" }, "=");
  const [from, to, move] = own(result.cells, name);
  const [kind, sign] = move === null ? ["other", "→"] : move > 0 ? ["up", "▲"] : ["down", "▼"];
  return h("td", { class: `to ${kind}` }, from === source ? `${sign} ${to}` : `${from} ${sign} ${to}`);
}

/** What a step asks for that the one before did not, and what it no longer asks for. */
function news(step, before) {
  const [now, then] = [step.result.wishes, before?.result.wishes ?? []];
  const out = [
    ...now.filter((wish) => !then.includes(wish)).map((wish) => `+ ${wish}`),
    ...then.filter((wish) => !now.includes(wish)).map((wish) => `− ${wish}`),
  ];
  const [a, b] = [step.state, before?.state];
  if (!b || a.row !== b.row) out.unshift(`row ${a.row + 1}`);
  if (JSON.stringify(a.edits) !== JSON.stringify(b?.edits ?? {}))
    out.push(`edited: ${Object.keys(a.edits).map(spoken).join(", ") || "nothing"}`);
  if (!b || JSON.stringify(a.target) !== JSON.stringify(b.target))
    out.push(`should say ${a.target.join(" or ") || "anything else"}`);
  if (!b || a.cost !== b.cost || a.spread !== b.spread) out.push(a.cost === "Q" ? "Q" : `${a.cost} by ${a.spread}`);
  return out.length ? out : ["the same"];
}
