// The tree, the way of the source (dashed) and of each answer through it, and what each leaf would cost.

import { fill, h } from "./dom.js";
import { fillOf, legend } from "./classes.js";
import { canvas, tone } from "./picture.js";

const [LINE, GAP] = [15, 46]; // pixels: of a line of words, between levels

export function drawTree(node, scene, drawn) {
  const places = new Map(drawn.nodes.map((one) => [one.id, one]));
  const left = Math.min(...drawn.nodes.map((one) => one.x - one.width / 2)) - 12;
  const right = Math.max(...drawn.nodes.map((one) => one.x + one.width / 2)) + 12;
  const tall = []; // of each level
  for (const one of drawn.nodes) tall[one.depth] = Math.max(tall[one.depth] ?? 0, heightOf(one));
  const tops = tall.map((_, depth) => 12 + tall.slice(0, depth).reduce((sum, each) => sum + each + GAP, 0));
  const height = tops.at(-1) + tall.at(-1) + 32;
  const at = (id) => [places.get(id).x - left, tops[places.get(id).depth] + heightOf(places.get(id)) / 2];
  const links = drawn.nodes.flatMap((one) =>
    one.children.map((child) => h("svg:path", { class: "link", d: line(at(one.id), at(child)) })),
  );
  const ways = drawn.paths.map((path, k) =>
    h("svg:path", {
      class: k ? (k === 1 ? "way best" : "way") : "way source",
      d: `M${path.map((id) => at(id).join(" ")).join("L")}`,
    }),
  );
  const nodes = drawn.nodes.map((one) =>
    h(
      "svg:g",
      { transform: `translate(${at(one.id).join(" ")})` },
      one.whole && h("svg:title", {}, one.whole),
      look(one, scene, drawn),
    ),
  );
  const width = right - left;
  const picture = h(
    "svg:svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words(scene, drawn) },
    links,
    ways.reverse(),
    nodes,
  );
  Object.assign(picture.style, { width: "100%", maxWidth: `${width}px`, minWidth: `${0.7 * width}px` });
  const frame = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tree" }, picture);
  const values = [...new Set(drawn.nodes.filter((one) => one.kind === "leaf").map((one) => one.value))].sort((a, b) => a - b);
  fill(
    node,
    h(
      "p",
      { class: "quiet" },
      scene.shape
        ? "Splits are pictures of their weights: ink on blue sends a row right, on red left. "
        : "A row goes left where the condition holds. ",
      "Dashed: the row as it is; thick: the cheapest answer; thin: the other alternatives. Under each leaf: what it costs to get there from this row.",
    ),
    legend(scene.classes, values),
    frame,
    !drawn.whole &&
      h("p", { class: "quiet" }, "The search for the costs of all leaves was stopped at the limit; some are missing."),
    drawn.nodes.some((one) => one.kind === "folded") &&
      h("p", { class: "quiet" }, `The tree has ${drawn.leaves} leaves; parts that no path here meets are folded away.`),
  );
  const ends = drawn.paths.slice(0, 2).map((path) => places.get(path.at(-1)).x - left); // the row and the cheapest answer in sight
  frame.scrollLeft = (ends.reduce((sum, x) => sum + x, 0) / ends.length / width) * frame.scrollWidth - frame.clientWidth / 2;
}

const heightOf = (one) =>
  one.kind === "picture" ? 68 : one.kind === "folded" ? 28 : Math.max(2, one.words.length) * LINE + 10;

const line = ([x1, y1], [x2, y2]) => `M${x1} ${y1}L${x2} ${y2}`;

function words(scene, drawn) {
  const last = (path) => drawn.nodes.find((one) => one.id === path.at(-1));
  const answers = drawn.paths
    .slice(1)
    .map((path, k) => `answer ${k + 1} ends in ${last(path).words[0]} at cost ${last(path).cost}`);
  return [`A tree of ${drawn.leaves} leaves. The row ends in ${last(drawn.paths[0]).words[0]}`, ...answers].join("; ");
}

function look(one, scene, { paths, whole }) {
  const half = one.width / 2;
  if (one.kind === "picture") {
    const side = 60;
    const pixels = canvas(
      one.weights.map((w) => tone(w)),
      scene.shape,
      side,
      "",
    );
    return [
      h("svg:rect", { class: "split", x: -half, y: -34, width: one.width, height: 68 }),
      h("svg:image", { class: "pixels", href: pixels.toDataURL(), x: -side / 2, y: -side / 2, width: side, height: side }),
    ];
  }
  if (one.kind === "folded") return [h("svg:path", { class: "folded", d: "M0 -14L16 10L-16 10Z" }), label(one.words, 24)];
  const mark = one.kind === "leaf" ? { rx: 14, fill: fillOf(one.value) } : { class: "split" };
  const numbers = paths.flatMap((path, k) => (path.at(-1) === one.id ? [k ? `#${k}` : "row"] : []));
  return [
    h("svg:rect", {
      x: -half,
      y: -heightOf(one) / 2,
      width: one.width,
      height: heightOf(one),
      ...mark,
      stroke: "currentColor",
    }),
    one.kind === "leaf"
      ? label(numbers.length ? [one.words[0], numbers.join(" ")] : one.words, numbers.length ? -3 : 4, "leaf")
      : label(one.words, 4 - ((one.words.length - 1) * LINE) / 2),
    one.kind === "leaf" &&
      label(
        [one.cost === null ? (whole ? "out of reach" : "?") : one.cost === "0" ? "here" : one.cost],
        heightOf(one) / 2 + LINE,
        "cost",
      ),
  ];
}

function label(lines, y, kind = "") {
  return h(
    "svg:text",
    { class: kind, y, "text-anchor": "middle" },
    lines.map((text, k) => h("svg:tspan", { x: 0, dy: k ? LINE : 0 }, text)),
  );
}
