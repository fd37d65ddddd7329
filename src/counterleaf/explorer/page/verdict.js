// What is asked and what came out: the sentence, the badge, and what is in the way where nothing works.

import { button, byId, fill, h } from "./dom.js";
import { post } from "./api.js";
import { withControl } from "./state.js";

/** The line on top: which row, what the model says of it, what it should say. */
export function tellAsked(scene, state, row, answer, change, seek) {
  const own = answer?.label ?? row.label;
  const any = button(`anything but ${own}`, () => change({ ...state, target: [] }), { class: "choice", "aria-pressed": String(!state.target.length) });
  const choices = scene.classes.map((name) =>
    button(name, () => change({ ...state, target: toggled(state.target, name, scene.classes) }), { class: "choice", "aria-pressed": String(state.target.includes(name)) }),
  );
  const place = h("input", { type: "number", id: "row", min: 1, max: scene.rows, value: state.row + 1, "aria-label": "row number" });
  place.addEventListener("change", () => {
    if (place.validity.valid && place.value !== "") change({ ...state, row: place.valueAsNumber - 1, edits: {} });
    else place.value = state.row + 1;
  });
  fill(
    byId("asked"),
    scene.given &&
      h(
        "div",
        { class: "group" },
        h("label", { for: "row" }, "Row"),
        button("‹", () => seek(-1), { "aria-label": "previous row", title: "previous row" }),
        place,
        h("span", { class: "quiet" }, `of ${scene.rows.toLocaleString("en")}`),
        button("›", () => seek(1), { "aria-label": "next row", title: "next row" }),
        button(`next “${own}”`, () => seek(1, own), { title: `the next row of which the model says ${own}` }),
      ),
    h("div", { class: "group" }, h("span", {}, "The model says "), h("strong", { class: "own" }, own), Object.keys(state.edits).length > 0 && button("undo edits", () => change({ ...state, edits: {} }), { class: "quiet" })),
    h("div", { class: "group", role: "group", "aria-label": "What the model should say" }, h("span", {}, "It should say "), scene.classes.length > 2 && any, choices),
  );
}

function toggled(target, name, classes) {
  if (classes.length === 2) return [name];
  return target.includes(name) ? target.filter((one) => one !== name) : classes.filter((one) => one === name || target.includes(one));
}

/** The sentence, the badges, the conflict. */
export function tellAnswer(state, answer, change) {
  byId("sentence").textContent = answer.sentence;
  const best = answer.answers[0];
  const badges = [];
  if (best) {
    badges.push(
      h("span", { class: best.verified ? "badge good" : "badge bad", id: "confirmed" }, best.verified ? "✓ confirmed by the model" : "✗ not confirmed by the model"),
      h("span", { class: "badge" }, `cost ${best.cost}`),
    );
  }
  const proved = answer.status === "optimal" ? "✓ proved: nothing costs less" : answer.status === "infeasible" ? "✓ proved: no such row" : null;
  if (proved) {
    const told = h("span", { class: "quiet", role: "status" });
    const check = button("check the proof", async () => {
      told.textContent = "checking …";
      try {
        const found = await post("/api/check", state);
        told.textContent = found.holds ? `holds: ${found.parts.toLocaleString("en")} parts re-proved in ${Math.round(found.milliseconds)} ms` : "does NOT hold";
      } catch (error) {
        told.textContent = error.message;
      }
    });
    badges.push(h("span", { class: "badge good" }, proved), check, told);
  } else {
    badges.push(h("span", { class: "badge warn" }, `stopped at the limit of ${answer.limit} s; bound so far: ${answer.least ?? "none"}`));
  }
  badges.push(h("span", { class: "quiet", id: "speed" }, `${answer.milliseconds < 10 ? answer.milliseconds.toFixed(1) : Math.round(answer.milliseconds)} ms`));
  fill(byId("badges"), badges);
  tellConflict(state, answer, change);
}

/** Why there is no answer to what is asked. */
export function tellTrouble(message) {
  byId("sentence").textContent = message;
  fill(byId("badges"));
  fill(byId("conflict"));
}

const VERBS = { lock: "Unlock", way: "Let it go both ways", range: "Drop the range", allowed: "Allow all values", step: "Drop the step", most: "Let any number change", ink: "Allow both", locked: "Unlock the pixels", margin: "Drop the margin" };

function tellConflict(state, answer, change) {
  if (answer.status !== "infeasible") return fill(byId("conflict"));
  if (!answer.conflict.length) {
    return fill(byId("conflict"), h("p", {}, "Nothing that you set is in the way: no row within the ranges of the table gets there. A wider range for a feature may help."));
  }
  fill(
    byId("conflict"),
    h("p", {}, answer.conflict.length === 1 ? "This is in the way:" : "These cannot all hold. Let one of them go:"),
    h(
      "ul",
      { class: "conflict" },
      answer.conflict.map((one) => h("li", {}, h("span", {}, one.words), button(VERBS[one.part], () => change(relaxed(state, one))))),
    ),
  );
}

/** The state without one of its wishes. */
function relaxed(state, { part, feature }) {
  const blank = { lock: { lock: false }, way: { way: "any" }, range: { low: null, high: null }, allowed: { allowed: null }, step: { step: null } };
  if (feature) return withControl(state, feature, blank[part]);
  return { ...state, ...{ most: { most: null }, ink: { ink: "any" }, locked: { locked: [] }, margin: { margin: 0 } }[part] };
}
