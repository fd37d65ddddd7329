// What is asked and what came out: the sentence, the badge, and what is in the way where nothing works.

import { button, byId, fill, h, onNumber, show } from "./dom.js";
import { post } from "./api.js";
import { withControl } from "./state.js";

/** The line on top: which row, what the model says of it, what it should say. Built once for a scene, so that no typing is lost. */
export class Asked {
  constructor(scene, change, seek) {
    Object.assign(this, { scene, change });
    this.place = h("input", { type: "number", id: "row", min: 1, max: scene.rows, step: 1 });
    onNumber(
      this.place,
      (row) => change({ ...this.state, row: row - 1, edits: {} }),
      () => this.state.row + 1,
    );
    const kinds = scene.classes.length <= 3 ? scene.classes : [];
    this.says = h("strong", { class: "own" });
    this.reset = button("reset edits", () => change({ ...this.state, edits: {} }), { class: "quiet" });
    this.any = button("", () => change({ ...this.state, target: [] }), { class: "choice" });
    this.choices = scene.classes.map((name) => [
      name,
      button(name, () => change({ ...this.state, target: toggled(this.state.target, name, scene.classes) }), {
        class: "choice",
      }),
    ]);
    fill(
      byId("asked"),
      h("h2", {}, scene.about),
      scene.given &&
        h(
          "div",
          { class: "group" },
          h("label", { for: "row" }, "Row"),
          button("‹", () => seek(-1), { "aria-label": "previous row", title: "previous row" }),
          this.place,
          h("span", { class: "quiet" }, `of ${scene.rows.toLocaleString("en")}`),
          button("›", () => seek(1), { "aria-label": "next row", title: "next row" }),
          kinds.map((name) =>
            button(`next “${name}”`, () => seek(1, name), { title: `the next row of which the model says ${name}` }),
          ),
        ),
      h("div", { class: "group" }, h("span", {}, "The model says "), this.says, this.reset),
      h(
        "div",
        { class: "group", role: "group", "aria-label": "What the model should say" },
        h("span", {}, "It should say "),
        scene.classes.length > 2 && this.any,
        this.choices.map(([, node]) => node),
      ),
    );
  }

  /** `label` is what the model says of the row, as it is edited. */
  update(state, label) {
    this.state = state;
    show(this.place, state.row + 1);
    this.says.textContent = label;
    this.reset.hidden = !Object.keys(state.edits).length;
    this.any.textContent = `anything but ${label}`;
    this.any.setAttribute("aria-pressed", String(!state.target.length));
    const open = !state.target.length && this.scene.classes.length === 2; // of two, any but its own is the other
    for (const [name, node] of this.choices)
      node.setAttribute("aria-pressed", String(state.target.includes(name) || (open && name !== label)));
  }
}

function toggled(target, name, classes) {
  if (classes.length === 2) return [name];
  return target.includes(name)
    ? target.filter((one) => one !== name)
    : classes.filter((one) => one === name || target.includes(one));
}

/** The sentence, the badges, the conflict. */
export function tellAnswer(state, answer, change) {
  byId("sentence").textContent = answer.sentence;
  const best = answer.answers[0];
  const badges = [];
  if (best) {
    badges.push(
      h(
        "span",
        { class: best.verified ? "badge good" : "badge bad", id: "confirmed" },
        best.verified ? "✓ confirmed by the model" : "✗ not confirmed by the model",
      ),
      h("span", { class: "badge", title: "how large the changes are, all together; 0 is none" }, `cost ${best.cost}`),
    );
  }
  const proved =
    answer.status === "optimal"
      ? "✓ proved: nothing costs less"
      : answer.status === "infeasible"
        ? "✓ proved: no such row"
        : null;
  if (proved) {
    const told = h("span", { class: "quiet", role: "status" });
    const check = button("check the proof", async () => {
      told.textContent = "checking …";
      try {
        const found = await post("/api/check", state);
        told.textContent = found.holds
          ? `holds: ${found.parts.toLocaleString("en")} parts re-proved in ${Math.round(found.milliseconds)} ms`
          : "does NOT hold";
      } catch (error) {
        told.textContent = error.message;
      }
    });
    badges.push(h("span", { class: "badge good" }, proved), check, told);
  } else {
    badges.push(
      h(
        "span",
        { class: "badge warn" },
        `stopped ${answer.limit ? `at the limit of ${answer.limit} s` : "before it was proved"}; bound so far: ${answer.least ?? "none"}`,
      ),
    );
  }
  badges.push(
    h(
      "span",
      { class: "quiet", id: "speed", title: "the time it took to answer" },
      `answered in ${answer.milliseconds < 10 ? answer.milliseconds.toFixed(1) : Math.round(answer.milliseconds)} ms`,
    ),
  );
  fill(byId("badges"), badges);
  tellConflict(state, answer, change);
}

/** Why there is no answer to what is asked. */
export function tellTrouble(message) {
  byId("sentence").textContent = message;
  fill(byId("badges"));
  fill(byId("conflict"));
}

const VERBS = {
  lock: "Unlock",
  way: "Let it go both ways",
  range: "Drop the range",
  allowed: "Allow all values",
  step: "Drop the step",
  most: "Let any number change",
  ink: "Allow both",
  locked: "Unlock the pixels",
  margin: "Drop the margin",
};

function tellConflict(state, answer, change) {
  if (answer.status !== "infeasible") return fill(byId("conflict"));
  if (!answer.conflict.length) {
    return fill(
      byId("conflict"),
      h(
        "p",
        {},
        "Nothing that you set is in the way: no row within the ranges of the table gets there. A wider range for a feature may help.",
      ),
    );
  }
  fill(
    byId("conflict"),
    h("p", {}, answer.conflict.length === 1 ? "This is in the way:" : "These cannot all hold; at least one of them has to go:"),
    h(
      "ul",
      { class: "conflict" },
      answer.conflict.map((one) =>
        h(
          "li",
          {},
          h("span", {}, one.words),
          button(VERBS[one.part], () => change(relaxed(state, one))),
        ),
      ),
    ),
  );
}

/** The state without one of its wishes. */
function relaxed(state, { part, feature }) {
  const blank = {
    lock: { lock: false },
    way: { way: "any" },
    range: { low: null, high: null },
    allowed: { allowed: null },
    step: { step: null },
  };
  if (feature) return withControl(state, feature, blank[part]);
  return { ...state, ...{ most: { most: null }, ink: { ink: "any" }, locked: { locked: [] }, margin: { margin: 0 } }[part] };
}
