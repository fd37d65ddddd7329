// The answer: a sentence, badges, the check of the proof, and the conflicting settings if no answer exists.

import { button, byId, fill, h } from "../../lib/dom.js";
import { post } from "../../lib/api.js";
import { withControl } from "../../lib/state.js";

export function showAnswer(state, answer, change) {
  byId("sentence").textContent = answer.sentence;
  const best = answer.answers[0];
  fill(
    byId("badges"),
    best && [
      h(
        "span",
        { class: best.confirmed ? "badge good" : "badge bad", id: "confirmed" },
        best.confirmed ? "✓ confirmed by the model" : "✗ not confirmed by the model",
      ),
      h("span", { class: "badge", title: "the total size of the changes; 0 means no change" }, `cost ${best.cost}`),
    ],
    proofBadges(state, answer),
    h(
      "span",
      { class: "quiet", id: "speed", title: "the time it took to answer" },
      `answered in ${answer.milliseconds < 10 ? answer.milliseconds.toFixed(1) : Math.round(answer.milliseconds)} ms`,
    ),
  );
  fill(byId("conflict"), answer.status === "infeasible" && describeConflict(state, answer.conflict, change));
}

/** Show an error in place of an answer. */
export function showError(message) {
  byId("sentence").textContent = message;
  fill(byId("badges"));
  fill(byId("conflict"));
}

const PROOFS = { optimal: "✓ proved: nothing costs less", infeasible: "✓ proved: no such row exists" };

function proofBadges(state, answer) {
  const proof = PROOFS[answer.status];
  if (!proof) {
    const stopped = answer.stopped_after ? `at the limit of ${answer.stopped_after} s` : "before the proof was complete";
    return h("span", { class: "badge warn" }, `stopped ${stopped}; lower bound: ${answer.lower_bound ?? "none"}`);
  }
  const outcome = h("span", { class: "quiet", role: "status" });
  const check = button("check the proof", async () => {
    outcome.textContent = "checking …";
    try {
      const { holds, n_parts, milliseconds } = await post("/api/check", state);
      outcome.textContent = holds
        ? `the proof holds: ${n_parts.toLocaleString("en")} parts checked in ${Math.round(milliseconds)} ms`
        : "the proof does NOT hold";
    } catch (error) {
      outcome.textContent = error.message;
    }
  });
  return [h("span", { class: "badge good" }, proof), check, outcome];
}

/** For each kind of setting: the label of the button that removes it, and the values without it. */
const REMOVALS = {
  lock: ["Unlock", { lock: false }],
  direction: ["Allow both directions", { direction: "any" }],
  range: ["Remove the range", { low: null, high: null }],
  allowed: ["Allow all values", { allowed: null }],
  step: ["Remove the step", { step: null }],
  max_changes: ["Allow any number of changes", { max_changes: null }],
  ink: ["Allow both", { ink: "any" }],
  locked_pixels: ["Unlock the pixels", { locked_pixels: [] }],
  margin: ["Remove the margin", { margin: 0 }],
};

function describeConflict(state, conflict, change) {
  if (!conflict.length)
    return h(
      "p",
      {},
      "None of your settings is the cause: no row within the data's ranges reaches the target. A wider range for a feature may help.",
    );
  const remove = ({ kind, feature }) => {
    const values = REMOVALS[kind][1];
    return feature ? withControl(state, feature, values) : { ...state, ...values };
  };
  return [
    h(
      "p",
      {},
      conflict.length === 1 ? "This setting rules out every answer:" : "These settings conflict; remove at least one of them:",
    ),
    h(
      "ul",
      { class: "conflict" },
      conflict.map((setting) =>
        h(
          "li",
          {},
          h("span", {}, setting.description),
          setting.kind in REMOVALS && button(REMOVALS[setting.kind][0], () => change(remove(setting))),
        ),
      ),
    ),
  ];
}
