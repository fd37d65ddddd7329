// Classes told apart by colour and by pattern: Okabe and Ito's colours, also for colour-blind readers.

import { h } from "./dom.js";

const COLOURS = ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#0072B2", "#D55E00", "#999999"];

const MOST = 24; // patterns; further classes begin again

/** A fill for class k: its colour, with stripes or dots from the second class on. */
export const fillOf = (k) => `url(#class-${k % MOST})`;

/** The patterns that `fillOf` names, in a drawing that takes no room; put into the page once. */
export function patterns() {
  const defs = h(
    "svg:defs",
    {},
    Array.from({ length: MOST }, (_, k) => pattern(k)),
  );
  return h("svg:svg", { width: 0, height: 0, class: "patterns", "aria-hidden": "true" }, defs);
}

function pattern(k) {
  const colour = COLOURS[k % COLOURS.length];
  const ink = { stroke: "#000", fill: "none", "stroke-opacity": "0.35" };
  const marks = [
    [],
    [h("svg:path", { d: "M-2 2L2 -2M0 8L8 0M6 10L10 6", ...ink })],
    [h("svg:circle", { cx: 4, cy: 4, r: 1, ...ink })],
  ];
  return h(
    "svg:pattern",
    { id: `class-${k}`, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
    h("svg:rect", { width: 8, height: 8, fill: "#fff" }),
    h("svg:rect", { width: 8, height: 8, fill: colour, "fill-opacity": "0.75" }),
    marks[k % marks.length],
  );
}

/** A line that names each class beside its colour. */
export function legend(classes, values) {
  const mark = (k) =>
    h(
      "svg:svg",
      { width: 18, height: 14, "aria-hidden": "true" },
      h("svg:rect", { width: 18, height: 14, fill: fillOf(k), stroke: "currentColor" }),
    );
  return h(
    "ul",
    { class: "legend" },
    values.map((k) => h("li", {}, mark(k), classes[k])),
  );
}
