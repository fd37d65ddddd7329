// The tree with the paths of the row and of each answer, and the cost of each leaf.

import { post } from "../../lib/api.js";
import { fillOf, legend } from "../../lib/class_colours.js";
import { fill, h } from "../../lib/dom.js";
import { canvas, redToBlue } from "../../lib/pixels.js";

const [LINE_HEIGHT, LEVEL_GAP, MARGIN, IMAGE_SIDE] = [15, 46, 12, 60]; // pixels

export class TreeView {
  constructor(scene) {
    Object.assign(this, { scene, node: h("div", {}) });
  }

  async update(state, row, answer) {
    this.request?.abort();
    if (!answer) return fill(this.node);
    if (!this.node.hasChildNodes()) this.node.textContent = "Drawing …";
    this.request = new AbortController();
    try {
      drawTree(this.node, this.scene, await post("/api/tree", state, this.request.signal));
    } catch (error) {
      if (error.name !== "AbortError") fill(this.node, h("p", {}, error.message));
    }
  }
}

/** Draw the response of the server into a node; the row and the cheapest answer are scrolled into view. */
function drawTree(node, scene, tree) {
  const { width, height, position } = arrange(tree.nodes);
  const links = tree.nodes.flatMap((one) =>
    one.children.map((child) => h("svg:path", { class: "link", d: line([position(one.id), position(child)]) })),
  );
  const paths = tree.paths.map((path, k) =>
    h("svg:path", { class: ["path source", "path best"][k] ?? "path", d: line(path.map(position)) }),
  );
  const nodes = tree.nodes.map((one) =>
    h(
      "svg:g",
      { transform: `translate(${position(one.id).join(" ")})` },
      one.full_text && h("svg:title", {}, one.full_text),
      drawNode(one, scene, tree),
    ),
  );
  const drawing = h(
    "svg:svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describe(tree) },
    links,
    paths.reverse(),
    nodes,
  );
  Object.assign(drawing.style, { width: "100%", maxWidth: `${width}px`, minWidth: `${0.7 * width}px` });
  const frame = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tree" }, drawing);
  fill(node, explain(scene), classLegend(scene, tree), frame, remarks(tree));
  const ends = tree.paths.slice(0, 2).map((path) => position(path.at(-1))[0]);
  const middle = ends.reduce((sum, x) => sum + x, 0) / ends.length;
  frame.scrollLeft = (middle / width) * frame.scrollWidth - frame.clientWidth / 2;
}

/** The size of the drawing and the centre of each node; a level is as high as its highest node. */
function arrange(nodes) {
  const byId = new Map(nodes.map((one) => [one.id, one]));
  const left = Math.min(...nodes.map((one) => one.x - one.width / 2)) - MARGIN;
  const right = Math.max(...nodes.map((one) => one.x + one.width / 2)) + MARGIN;
  const heights = []; // of the levels
  for (const one of nodes) heights[one.depth] = Math.max(heights[one.depth] ?? 0, heightOf(one));
  const tops = heights.map((_, depth) => MARGIN + heights.slice(0, depth).reduce((sum, each) => sum + each + LEVEL_GAP, 0));
  const position = (id) => {
    const one = byId.get(id);
    return [one.x - left, tops[one.depth] + heightOf(one) / 2];
  };
  return { width: right - left, height: tops.at(-1) + heights.at(-1) + 32, position };
}

const heightOf = (one) =>
  one.kind === "image" ? 68 : one.kind === "folded" ? 28 : Math.max(2, one.text.length) * LINE_HEIGHT + 10;

const line = (points) => `M${points.map((point) => point.join(" ")).join("L")}`;

const explain = (scene) =>
  h(
    "p",
    { class: "quiet" },
    scene.shape
      ? "Each split shows the weights of the pixels: ink on blue sends a row right, ink on red sends it left. "
      : "A row goes left if the condition holds. ",
    "Dashed: the path of the row. Thick: the cheapest answer. Thin: the other alternatives. The number under a leaf is the cost of reaching it from this row.",
  );

function classLegend(scene, tree) {
  const indices = new Set(tree.nodes.filter((one) => one.kind === "leaf").map((one) => one.class_index));
  return legend(
    scene.classes,
    [...indices].sort((a, b) => a - b),
  );
}

const remarks = (tree) => [
  !tree.complete && h("p", { class: "quiet" }, "The search reached the time limit; the costs of some leaves are missing."),
  tree.nodes.some((one) => one.kind === "folded") &&
    h("p", { class: "quiet" }, `The tree has ${tree.n_leaves} leaves; subtrees without a path are folded.`),
];

function describe(tree) {
  const leafOf = (path) => tree.nodes.find((one) => one.id === path.at(-1));
  const [source, ...answers] = tree.paths.map(leafOf);
  return [
    `A tree of ${tree.n_leaves} leaves. The row ends in ${source.text[0]}`,
    ...answers.map((leaf, k) => `answer ${k + 1} ends in ${leaf.text[0]} at cost ${leaf.cost}`),
  ].join("; ");
}

function drawNode(one, scene, { paths, complete }) {
  if (one.kind === "image") return drawWeights(one, scene);
  if (one.kind === "folded") return [h("svg:path", { class: "folded", d: "M0 -14L16 10L-16 10Z" }), label(one.text, 24)];
  const height = heightOf(one);
  const look = one.kind === "leaf" ? { rx: 14, fill: fillOf(one.class_index) } : { class: "split" };
  const box = h("svg:rect", {
    x: -one.width / 2,
    y: -height / 2,
    width: one.width,
    height,
    ...look,
    stroke: "currentColor",
  });
  if (one.kind === "split") return [box, label(one.text, 4 - ((one.text.length - 1) * LINE_HEIGHT) / 2)];
  const ranks = paths.flatMap((path, k) => (path.at(-1) === one.id ? [k ? `#${k}` : "row"] : []));
  const cost = one.cost === null ? (complete ? "unreachable" : "?") : one.cost === "0" ? "here" : one.cost;
  return [
    box,
    ranks.length ? label([one.text[0], ranks.join(" ")], -3, "leaf") : label(one.text, 4, "leaf"),
    label([cost], height / 2 + LINE_HEIGHT, "cost"),
  ];
}

function drawWeights(one, scene) {
  const [side, height] = [IMAGE_SIDE, heightOf(one)];
  const pixels = canvas(one.weights.map(redToBlue), scene.shape, side, "");
  return [
    h("svg:rect", { class: "split", x: -one.width / 2, y: -height / 2, width: one.width, height }),
    h("svg:image", { class: "pixels", href: pixels.toDataURL(), x: -side / 2, y: -side / 2, width: side, height: side }),
  ];
}

function label(lines, y, kind = "") {
  return h(
    "svg:text",
    { class: kind, y, "text-anchor": "middle" },
    lines.map((text, k) => h("svg:tspan", { x: 0, dy: k ? LINE_HEIGHT : 0 }, text)),
  );
}
