// The tree with the paths of the row and of each option. Subtrees fold and unfold; a split explains itself when it is pointed at.

import { post } from "../../lib/api.js";
import { colourOfShare, fillOf, isLight, legend, scaleLegend } from "../../lib/class_colours.js";
import { fill, h, markBusy } from "../../lib/dom.js";
import { brownToTeal, canvas } from "../../lib/pixels.js";
import { arrange } from "./tree_layout.js";
import { fitText, textWidth } from "./ticks.js";

const [LINE, PAD, GAP, LEVEL_GAP, MARGIN, IMAGE_SIDE] = [17, 10, 16, 58, 14, 64]; // pixels
const [FONT, SMALL] = ["13px system-ui, sans-serif", "12px system-ui, sans-serif"];
const MAX_TEXT = 210; // pixels of a line in a node
const WHOLE = 12; // a tree with at most this number of leaves is open at first
const [LEAST_SCALE, MOST_STRETCH] = [0.85, 2.2];

export class TreeView {
  constructor(scene, change, tools) {
    Object.assign(this, { scene, change, tools, choices: new Map(), current: null });
    this.key = h("div", { class: "tree-key" });
    this.frame = h("div", { class: "scroll tree-frame" });
    this.tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
    this.remarks = h("p", { class: "quiet" });
    this.node = h("div", { class: "tree-view" }, this.key, this.frame, this.remarks, this.tip);
    new ResizeObserver(() => this.isResized() && this.draw()).observe(this.frame);
    this.frame.addEventListener("scroll", () => (this.tip.hidden = true));
  }

  /** Cancel the running request, because the question may have changed; `update` repeats it. */
  pause() {
    this.request?.abort();
  }

  async update(state, row, answer, selected) {
    this.selected = selected;
    const wanted = JSON.stringify(state);
    if (!answer) return this.clear();
    const isDrawn = wanted === this.drawnFor;
    markBusy(this.node, !isDrawn, this.row !== state.row);
    if (isDrawn) return this.tree && this.draw();
    this.request?.abort();
    this.request = new AbortController();
    try {
      if (!this.tree) this.remarks.textContent = "Drawing …";
      const tree = await post("/api/tree", state, this.request.signal);
      const first = !this.tree;
      [this.drawnFor, this.row] = [wanted, state.row];
      markBusy(this.node, false);
      this.tree = { ...tree, byId: new Map(tree.nodes.map((one) => [one.id, one])) };
      this.tree.onPaths = new Set(tree.paths.flat());
      this.draw();
      if (first && this.at) this.scrollToPaths();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.clear();
      this.tools.notify(error.message);
    }
  }

  clear() {
    this.request?.abort();
    [this.tree, this.drawnFor] = [null, null];
    markBusy(this.node, false);
    fill(this.frame);
    fill(this.key);
    this.remarks.textContent = "";
  }

  /** Whether the panel has another width than the drawing; a hidden one has none. */
  isResized() {
    const width = this.frame.clientWidth;
    return Boolean(this.tree) && width > 0 && width !== this.drawnWidth;
  }

  /** Whether the children of a split are shown: as the user chose, at first those on the paths. */
  isOpen(one) {
    if (!one.children?.length) return false;
    return this.choices.get(one.id) ?? (this.tree.n_leaves <= WHOLE || this.tree.onPaths.has(one.id));
  }

  childrenOf = (one) => (this.isOpen(one) ? one.children : []);

  /** The nodes to draw, parents first, in the order of reading. */
  visible() {
    const out = [];
    const ahead = [this.tree.byId.get(0)];
    while (ahead.length) {
      const one = ahead.pop();
      out.push(one);
      for (const id of [...this.childrenOf(one)].reverse()) ahead.push(this.tree.byId.get(id));
    }
    return out;
  }

  draw() {
    if (!this.frame.clientWidth) return; // the panel is hidden; it is drawn when it gets a width
    const nodes = this.visible();
    this.drawnWidth = this.frame.clientWidth;
    this.captions = new Map(nodes.flatMap((one) => this.childrenOf(one).map((id, k) => [id, one.branches[k]])));
    this.boxes = new Map(nodes.map((one) => [one.id, this.measure(one)]));
    const places = arrange(nodes, (one) => this.boxes.get(one.id).room, this.childrenOf, GAP);
    this.place(nodes, places);
    const drawing = h(
      "svg:svg",
      { class: "tree", role: "tree", "aria-label": this.describe() },
      nodes.map((one) => this.childrenOf(one).map((id) => this.drawLink(one.id, id))).flat(Infinity),
      nodes.map((one) => this.drawNode(one, places.get(one.id).depth)),
    );
    const scale = Math.max(LEAST_SCALE, Math.min(1, this.drawnWidth / this.width));
    drawing.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    Object.assign(drawing.style, { width: `${this.width * scale}px`, height: `${this.height * scale}px` });
    const focused = this.frame.contains(document.activeElement);
    fill(this.frame, drawing);
    this.scale = scale;
    const current = this.boxes.has(this.current) ? this.current : 0;
    this.items().find((item) => Number(item.dataset.id) === current)?.setAttribute("tabindex", "0");
    if (focused) this.focus(current);
    this.drawKey(nodes);
  }

  /** The positions in pixels: the tree is spread over the width of the panel, and a level is as high as its highest node. */
  place(nodes, places) {
    const ends = nodes.flatMap((one) => {
      const { x } = places.get(one.id);
      return [x - this.boxes.get(one.id).room / 2, x + this.boxes.get(one.id).room / 2];
    });
    const [left, right] = [Math.min(...ends), Math.max(...ends)];
    const natural = right - left + 2 * MARGIN;
    const inner = right - left;
    const spread = inner > 0 ? Math.min(MOST_STRETCH, Math.max(1, (this.drawnWidth - 2 * MARGIN) / inner)) : 1;
    const heights = [];
    for (const one of nodes) {
      const { depth } = places.get(one.id);
      heights[depth] = Math.max(heights[depth] ?? 0, this.boxes.get(one.id).height);
    }
    const tops = heights.map((_, depth) => MARGIN + heights.slice(0, depth).reduce((sum, each) => sum + each + LEVEL_GAP, 0));
    this.width = Math.max(natural * spread - 2 * MARGIN * (spread - 1), Math.min(this.drawnWidth, natural * spread));
    this.width = Math.max(this.width, this.drawnWidth * (natural <= this.drawnWidth ? 1 : 0));
    this.height = tops.at(-1) + heights.at(-1) + 2 * LINE + MARGIN + 8;
    const middle = (left + right) / 2;
    this.at = new Map(
      nodes.map((one) => {
        const { x, depth } = places.get(one.id);
        return [one.id, [this.width / 2 + (x - middle) * spread, tops[depth] + this.boxes.get(one.id).height / 2]];
      }),
    );
  }

  /** The texts of a node, the size of its box, and the room it needs together with the texts above and below. */
  measure(one) {
    const folded = one.kind !== "leaf" && !this.isOpen(one);
    const lines = folded ? [`${one.children?.length ? "▸ " : ""}${one.leaves.toLocaleString("en-US")} leaves`] : one.text;
    const shown = lines.map((text) => fitText(text, MAX_TEXT, FONT));
    const caption = fitText(this.captions.get(one.id) ?? "", MAX_TEXT, SMALL);
    const marks = one.kind === "leaf" ? this.tree.paths.flatMap((path, k) => (path.at(-1) === one.id ? [k] : [])) : [];
    const effort = one.kind === "leaf" ? this.effortText(one) : "";
    const image = one.kind === "image" && !folded;
    const width = image ? IMAGE_SIDE + 8 : Math.max(56, ...shown.map((text) => textWidth(text, FONT) + 2 * PAD + 4));
    const height = image ? IMAGE_SIDE + 8 : Math.max(1, shown.length) * LINE + 14;
    const below = textWidth(effort, SMALL) + 22 * marks.length;
    return { folded, image, lines: shown, caption, marks, effort, width, height, room: Math.max(width, textWidth(caption, SMALL) + 14, below + 4) };
  }

  effortText({ effort }) {
    if (effort) return effort.short;
    return this.tree.complete ? "out of reach" : "";
  }

  /** The link to a child, and next to each other the paths that use it. */
  drawLink(from, to) {
    const [[x1, y1], [x2, y2]] = [this.at.get(from), this.at.get(to)];
    const [top, bottom] = [y1 + this.boxes.get(from).height / 2, y2 - this.boxes.get(to).height / 2];
    const users = this.tree.paths.flatMap((path, k) => (path.some((id, i) => id === from && path[i + 1] === to) ? [k] : []));
    const curve = (dx) => {
      const dy = x2 > x1 ? -dx : dx; // parallel lines also where the link is nearly horizontal
      return `M${x1 + dx} ${top}C${x1 + dx} ${top + 38 + dy} ${x2 + dx} ${top + 4 + dy} ${x2 + dx} ${bottom}`;
    };
    const caption = this.boxes.get(to).caption;
    const wide = textWidth(caption, SMALL) + 8;
    return [
      !users.length && h("svg:path", { class: "link", d: curve(0) }),
      users.map((k, i) => h("svg:path", { class: this.pathClass(k), d: curve((i - (users.length - 1) / 2) * 5) })),
      caption && h("svg:rect", { class: "behind", x: x2 - wide / 2, y: bottom - 25, width: wide, height: 17, rx: 4 }),
      caption && h("svg:text", { class: "caption", x: x2, y: bottom - 12, "text-anchor": "middle" }, caption),
    ];
  }

  pathClass = (k) => (k === 0 ? "path source" : k - 1 === this.selected ? "path best" : "path");

  drawNode(one, depth) {
    const box = this.boxes.get(one.id);
    const [x, y] = this.at.get(one.id);
    const expandable = Boolean(one.children?.length);
    const node = h(
      "svg:g",
      {
        transform: `translate(${x} ${y})`,
        class: expandable ? "tree-node can-fold" : "tree-node",
        role: "treeitem",
        tabindex: "-1",
        "data-id": one.id,
        "aria-level": depth + 1,
        "aria-expanded": expandable ? String(this.isOpen(one)) : null,
        "aria-label": this.sentences(one).join(" "),
        onclick: () => this.toggle(one),
        onkeydown: (event) => this.onKey(event, one),
        onpointerenter: () => this.showTip(one),
        onpointerleave: () => (this.tip.hidden = true),
        onfocus: () => ((this.current = one.id), this.showTip(one)),
        onblur: () => (this.tip.hidden = true),
      },
      [this.drawBox(one, box)].flat(Infinity),
    );
    return node;
  }

  drawBox(one, box) {
    const rect = { x: -box.width / 2, y: -box.height / 2, width: box.width, height: box.height };
    if (box.image) {
      const pixels = canvas(one.weights.map(brownToTeal), this.scene.shape, IMAGE_SIDE, "");
      const side = { x: -IMAGE_SIDE / 2, y: -IMAGE_SIDE / 2, width: IMAGE_SIDE, height: IMAGE_SIDE };
      return [h("svg:rect", { class: "split", ...rect }), h("svg:image", { class: "pixels", href: pixels.toDataURL(), ...side })];
    }
    if (one.kind !== "leaf") {
      const look = box.folded ? { class: "folded", rx: box.height / 2 } : { class: "split", rx: 4 };
      return [h("svg:rect", { ...rect, ...look }), label(box.lines, 0)];
    }
    const colour = one.class_index >= 0 ? null : this.colourOf(one.number);
    const paint = one.class_index >= 0 ? fillOf(one.class_index) : colour ? `rgb(${colour.join(" ")})` : "var(--card)";
    const kind = colour && !isLight(colour) ? "leaf on-dark" : one.class_index >= 0 || colour ? "leaf" : "";
    return [
      h("svg:rect", { ...rect, rx: 14, fill: paint, stroke: "currentColor" }),
      label(box.lines, 0, kind),
      this.drawMarks(box),
    ];
  }

  /** Below a leaf: the row and the options that end there, and the effort of getting there. */
  drawMarks({ marks, effort, height }) {
    const total = 22 * marks.length + textWidth(effort, SMALL);
    const y = height / 2 + 15;
    return [
      marks.map((k, i) => {
        const x = -total / 2 + 22 * i + 9;
        if (k === 0) return h("svg:rect", { class: "source-point", x: x - 6, y: y - 6, width: 12, height: 12 });
        return [
          h("svg:circle", { class: k - 1 === this.selected ? "way selected" : "way", cx: x, cy: y, r: 9 }),
          h("svg:text", { class: "way-number", x, y: y + 4, "text-anchor": "middle" }, k),
        ];
      }),
      h("svg:text", { class: "cost", x: -total / 2 + 22 * marks.length, y: y + 4 }, effort),
    ];
  }

  colourOf(number) {
    if (number === null || !this.tree.range) return null;
    const [low, high] = this.tree.range;
    return colourOfShare(high > low ? (number - low) / (high - low) : 0.5);
  }

  /** What a node says when it is pointed at. */
  sentences(one) {
    const ends = (k) => (k === 0 ? "the row" : `option ${k}`);
    if (one.kind === "leaf") {
      const here = this.tree.paths.flatMap((path, k) => (path.at(-1) === one.id ? [ends(k)] : []));
      return [
        `${one.holds ?? one.text.join(", ")}.`,
        here.length ? `Here ${here.length > 1 ? "end" : "ends"} ${listed(here)}.` : "",
        one.effort && one.effort.words !== "nothing has to change" ? `Effort from this row: ${one.effort.words}.` : "",
        !one.effort && this.tree.complete ? "No allowed change gets here." : "",
      ].filter(Boolean);
    }
    const texts = one.kind === "image" ? ["Ink on teal sends a row right, ink on brown left."] : [`${one.holds}: left.`, `${one.otherwise}: right.`];
    const values = this.tree.values[one.feature] ?? one.sums;
    const through = this.tree.paths.flatMap((path, k) => (path.includes(one.id) ? [k] : []));
    const goes = through.map((k) => {
      const side = one.sides[k] === "L" ? "left" : "right";
      const why = values ? ` (${one.sums ? "score " : ""}${values[k]})` : "";
      return `${ends(k)[0].toUpperCase()}${ends(k).slice(1)} goes ${side}${why}.`;
    });
    return [...texts, ...goes, `${one.leaves.toLocaleString("en-US")} leaves below.`];
  }

  showTip(one) {
    const node = this.frame.querySelector(`[data-id="${one.id}"]`);
    if (!node) return;
    fill(
      this.tip,
      this.sentences(one).map((text, k) => h(k ? "p" : "strong", {}, text)),
      one.children?.length > 0 && h("p", { class: "quiet" }, this.isOpen(one) ? "Click to fold." : "Click to unfold."),
      one.kind !== "leaf" && !one.children?.length && h("p", { class: "quiet" }, "This subtree is too large to draw."),
    );
    this.tip.hidden = false;
    const [outer, box] = [this.node.getBoundingClientRect(), node.getBoundingClientRect()];
    const left = Math.min(outer.width - this.tip.offsetWidth, Math.max(0, box.left + box.width / 2 - outer.left - this.tip.offsetWidth / 2));
    Object.assign(this.tip.style, { left: `${left}px`, top: `${box.bottom - outer.top + 8}px` });
  }

  /** Fold or unfold a split; it stays where it is on the screen. */
  toggle(one, open = !this.isOpen(one)) {
    if (!one.children?.length || open === this.isOpen(one)) return;
    const before = this.at.get(one.id)[0] * this.scale - this.frame.scrollLeft;
    this.choices.set(one.id, open);
    this.current = one.id;
    this.draw();
    this.frame.scrollLeft = this.at.get(one.id)[0] * this.scale - before;
    this.focus(one.id);
  }

  items = () => [...this.frame.querySelectorAll("[role=treeitem]")];

  focus(id) {
    for (const item of this.items()) item.setAttribute("tabindex", Number(item.dataset.id) === id ? "0" : "-1");
    this.items().find((item) => Number(item.dataset.id) === id)?.focus({ preventScroll: true });
  }

  onKey(event, one) {
    const ids = this.items().map((item) => Number(item.dataset.id));
    const at = ids.indexOf(one.id);
    const parent = this.tree.nodes.find((other) => other.children?.includes(one.id));
    const open = this.isOpen(one);
    const moves = {
      ArrowDown: () => ids[at + 1],
      ArrowUp: () => ids[at - 1],
      Home: () => ids[0],
      End: () => ids.at(-1),
      ArrowRight: () => (open ? one.children[0] : this.toggle(one, true)),
      ArrowLeft: () => (open ? this.toggle(one, false) : parent?.id),
      Enter: () => this.toggle(one),
      " ": () => this.toggle(one),
    };
    if (!moves[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const to = moves[event.key]();
    if (to === undefined) return;
    this.focus(to);
    this.frame.querySelector(`[data-id="${to}"]`).scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  scrollToPaths() {
    const ends = [this.tree.paths[0], this.tree.paths[this.selected + 1] ?? this.tree.paths[0]].map((path) => this.at.get(path.at(-1))[0]);
    this.frame.scrollLeft = ((ends[0] + ends[1]) / 2) * this.scale - this.frame.clientWidth / 2;
  }

  describe() {
    const leafOf = (path) => this.tree.byId.get(path.at(-1)).text[0];
    const [source, ...ways] = this.tree.paths.map(leafOf);
    const ends = ways.map((text, k) => `option ${k + 1} ends in ${text}`);
    return [`A tree of ${this.tree.n_leaves} leaves. The row ends in ${source}`, ...ends].join("; ");
  }

  drawKey(nodes) {
    const classes = [...new Set(nodes.filter((one) => one.kind === "leaf" && one.class_index >= 0).map((one) => one.class_index))];
    const sample = (kind) => h("svg:svg", { width: 34, height: 12, "aria-hidden": "true" }, h("svg:path", { class: kind, d: "M0 6L34 6" }));
    const texts = this.tree.range?.map((number) => Number(number.toPrecision(4)).toLocaleString("en-US"));
    fill(
      this.key,
      classes.length > 0 &&
        legend(
          this.scene.classes,
          classes.sort((a, b) => a - b),
        ),
      texts && scaleLegend(texts),
      h(
        "ul",
        { class: "legend" },
        h("li", {}, sample("path source"), "the row"),
        this.tree.paths.length > 1 && h("li", {}, sample("path best"), "the selected option"),
        this.tree.paths.length > 2 && h("li", {}, sample("path"), "other options"),
      ),
    );
    const image = this.scene.shape ? "Ink on teal sends a row right, ink on brown left. " : "";
    const late = this.tree.complete ? "" : " The search stopped: some efforts are missing, and others may not be the smallest.";
    this.remarks.textContent = `${image}Click a split to fold or unfold it. Below a leaf: the effort of getting there from this row.${late}`;
  }
}

const listed = (parts) => (parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts[0]);

function label(lines, y, kind = "") {
  const first = y + 4.5 - ((lines.length - 1) * LINE) / 2;
  return h(
    "svg:text",
    { class: kind, y: first, "text-anchor": "middle" },
    lines.map((text, k) => h("svg:tspan", { x: 0, dy: k ? LINE : 0, class: k ? "second" : "" }, text)),
  );
}
