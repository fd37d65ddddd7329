// The settings that rule out every answer, each with a button that removes it.

import { button, h } from "../../lib/dom.js";
import { withControl } from "../../lib/state.js";

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

/** The state without a setting. */
function without(state, { kind, feature }) {
  const values = REMOVALS[kind][1];
  return feature ? withControl(state, feature, values) : { ...state, ...values };
}

export function describeConflict(state, { conflict, proof, reach }, change) {
  const proved = proof.proved && h("span", { class: "good" }, " ✓ This is proved.");
  if (!conflict.length)
    return h(
      "p",
      {},
      "None of your settings is the cause: no row within the ranges of the features gets there. ",
      reach ?? "A wider range for a feature may help.",
      proved,
    );
  return [
    h("p", {}, conflict.length === 1 ? "This setting rules it out:" : "These settings rule it out together. Remove one of them:", proved),
    h(
      "ul",
      { class: "conflict", id: "conflict" },
      conflict.map((setting) =>
        h(
          "li",
          {},
          h("span", { title: setting.description }, setting.description),
          setting.kind in REMOVALS &&
            button(REMOVALS[setting.kind][0], () => change(without(state, setting)), {
              "aria-label": `${REMOVALS[setting.kind][0]}: ${setting.description}`,
            }),
        ),
      ),
    ),
  ];
}
