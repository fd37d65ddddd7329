// The frame of a plane with round ticks, whose labels do not collide, and the names of the axes with their units.

import { h } from "../../lib/dom.js";
import { fitText, roundTicks, textWidth } from "./ticks.js";

const FONT = "12px system-ui, sans-serif";
const [TOP, RIGHT, BELOW, ROOM] = [10, 14, 48, 22]; // pixels

/** The area of the plane in pixels, and the nodes of its axes. */
export function drawAxes({ axes, low, high }, width, height) {
  const down = height - TOP - BELOW;
  const yTicks = roundTicks(low[1], high[1], Math.max(2, Math.floor(down / 44)), axes[1]);
  const widest = Math.min(0.34 * width, Math.max(...yTicks.map(({ text }) => textWidth(text, FONT)), 10));
  const left = Math.ceil(widest) + 34;
  const area = { left, top: TOP, width: width - left - RIGHT, height: down };
  const toX = (value) => left + ((value - low[0]) / (high[0] - low[0])) * area.width;
  const toY = (value) => TOP + down - ((value - low[1]) / (high[1] - low[1])) * down;
  const bottom = TOP + down;
  const nodes = [
    h("svg:rect", { class: "frame", x: left, y: TOP, width: area.width, height: down }),
    fittingTicks(axes[0], low[0], high[0], area.width).map(({ at, text }) => [
      h("svg:line", { class: "tick", x1: toX(at), x2: toX(at), y1: bottom, y2: bottom + 5 }),
      h("svg:text", { x: inside(toX(at), text, width), y: bottom + 18, "text-anchor": "middle" }, text),
    ]),
    spaced(yTicks, toY).map(({ at, text }) => [
      h("svg:line", { class: "tick", x1: left - 5, x2: left, y1: toY(at), y2: toY(at) }),
      h("svg:text", { x: left - 8, y: toY(at) + 4, "text-anchor": "end" }, fitText(text, widest + 1, FONT)),
    ]),
    h("svg:text", { class: "axis", x: left + area.width / 2, y: height - 8, "text-anchor": "middle" }, nameOf(axes[0], area.width)),
    h(
      "svg:text",
      { class: "axis", transform: `translate(14 ${TOP + down / 2}) rotate(-90)`, "text-anchor": "middle" },
      nameOf(axes[1], down),
    ),
  ];
  return { area, nodes: nodes.flat(2) };
}

/** As many ticks as fit side by side; the labels of categories are shortened. */
function fittingTicks(axis, low, high, width) {
  if (axis.values) {
    const every = Math.ceil(axis.values.length / Math.max(1, Math.floor(width / 44)));
    const room = (width / axis.values.length) * every - 8;
    return roundTicks(low, high, 0, axis)
      .filter((_, k) => k % every === 0)
      .map(({ at, text }) => ({ at, text: fitText(text, room, FONT) }));
  }
  for (let most = Math.max(2, Math.floor(width / 60)); most > 1; most--) {
    const ticks = roundTicks(low, high, most, axis);
    const gap = ticks.length > 1 ? ((ticks[1].at - ticks[0].at) / (high - low)) * width : Infinity;
    if (ticks.every(({ text }) => textWidth(text, FONT) + ROOM <= gap)) return ticks;
  }
  return roundTicks(low, high, 1, axis).slice(0, 2);
}

/** The ticks of a vertical axis at least a line apart. */
function spaced(ticks, toY) {
  let last = Infinity;
  return ticks.filter(({ at }) => {
    const free = last - toY(at) >= 15;
    if (free) last = toY(at);
    return free;
  });
}

/** The middle of a label that stays on the page. */
const inside = (x, text, width) => Math.min(width - textWidth(text, FONT) / 2 - 1, x);

const nameOf = ({ label, unit }, room) =>
  fitText(unit ? `${label} (${unit})` : label, room, "600 13px system-ui, sans-serif");
