// The row and the options in a plane: a square, dots with arrows, and numbers that do not cover each other.

import { h } from "../../lib/dom.js";

const RADIUS = 10; // pixels, of a number

/** The nodes of the row and of the options; a click on a number selects its option. */
export function drawMarks([x, y], ways, area, select) {
  const bubbles = placeNumbers([x, y], ways, area);
  const order = ways.map((_, k) => k).sort((a, b) => ways[a].selected - ways[b].selected);
  return [
    order.map((k) => {
      const { at, selected } = ways[k];
      return h("svg:line", { class: selected ? "move selected" : "move", x1: x, y1: y, x2: at[0], y2: at[1] });
    }),
    h("svg:rect", { class: "source-point", x: x - 7, y: y - 7, width: 14, height: 14 }),
    order.map((k) => {
      const { at, others, selected } = ways[k];
      const [cx, cy] = bubbles[k];
      return h(
        "svg:g",
        { class: "way-mark", onclick: () => select(k) },
        h("svg:line", { class: "leader", x1: at[0], y1: at[1], x2: cx, y2: cy }),
        h("svg:circle", { class: others ? "dot hollow" : "dot", cx: at[0], cy: at[1], r: 5 }),
        h("svg:circle", { class: selected ? "way selected" : "way", cx, cy, r: RADIUS }),
        h("svg:text", { class: "way-number", x: cx, y: cy + 4.5, "text-anchor": "middle" }, k + 1),
      );
    }),
  ];
}

/** A place for each number: near its dot, inside the frame, clear of the dots, the row and the other numbers. */
function placeNumbers(row, ways, { left, top, width, height }) {
  const taken = [{ at: row, size: 9 }, ...ways.map(({ at }) => ({ at, size: 6 }))];
  const places = ways.map(() => null);
  const order = ways.map((_, k) => k).sort((a, b) => ways[b].selected - ways[a].selected);
  for (const k of order) {
    const [x, y] = ways[k].at;
    const spots = [18, 24, 34, 46, 60, 80].flatMap((away) =>
      [-0.25, 0.25, -0.75, 0.75, 0, 1, -0.5, 0.5].map((turn) => [x + away * Math.cos(turn * Math.PI), y + away * Math.sin(turn * Math.PI)]),
    );
    const free = ([a, b]) =>
      a > left + RADIUS &&
      a < left + width - RADIUS &&
      b > top + RADIUS &&
      b < top + height - RADIUS &&
      taken.every(({ at, size }) => Math.hypot(at[0] - a, at[1] - b) > size + RADIUS + 1);
    places[k] = spots.find(free) ?? spots[0];
    taken.push({ at: places[k], size: RADIUS });
  }
  return places;
}
