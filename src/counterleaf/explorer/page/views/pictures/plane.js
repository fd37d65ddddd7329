// The plane of two features: what the model says everywhere on it, the row, which the user drags, and the options.

import { post } from "../../lib/api.js";
import { colourOf, colourOfShare, fillOf, legend, scaleLegend } from "../../lib/class_colours.js";
import { button, fill, h, lookUp, markBusy, percentText } from "../../lib/dom.js";
import { nameOf } from "../features/values.js";
import { drawAxes } from "./plane_axes.js";
import { drawMarks } from "./plane_marks.js";
import { snap, valueText } from "./ticks.js";

const [LEAST_HEIGHT, MOST_HEIGHT] = [300, 560]; // pixels
const STEPS = 100; // arrow keys from one side to the other

export class Plane {
  constructor(scene, change, tools) {
    Object.assign(this, { scene, change, tools, whole: false });
    this.usable = scene.features.filter((feature) => feature.kind === "number" || feature.kind === "date" || feature.values?.length > 1);
    this.key = h("div", { class: "plane-key" });
    this.drawing = h("div", { class: "plane-frame" });
    this.readout = h("p", { class: "readout quiet" });
    if (this.usable.length < 2) {
      this.node = h("p", {}, "A plane needs two features with several values; this model has fewer.");
      return;
    }
    const pick = (k, label) => {
      const options = this.usable.map((feature) => h("option", { value: feature.name }, nameOf(feature)));
      const select = h("select", { id: `plane-${k}`, onchange: () => this.choose(k) }, options);
      return [select, h("div", { class: "field" }, h("label", { for: select.id }, label), select)];
    };
    const [[x, xField], [y, yField]] = [pick(0, "Horizontal axis"), pick(1, "Vertical axis")];
    this.selects = [x, y];
    this.zoom = button("Whole range", () => ((this.whole = !this.whole), this.refresh()), { "aria-pressed": "false" });
    this.node = h("div", { class: "plane-view" }, h("div", { class: "above" }, xField, yField, this.zoom), this.key, this.drawing, this.readout);
    new ResizeObserver(() => this.isResized() && this.redraw()).observe(this.drawing);
  }

  /** Cancel the running request, because the question may have changed; `update` repeats it. */
  pause() {
    this.request?.abort();
  }

  /** Draw for another width; this ends a move, because the handle is replaced. */
  redraw() {
    this.held = false;
    this.release();
    this.draw();
  }

  /** Whether the panel has another width than the drawing; a hidden one has none. */
  isResized() {
    const width = this.drawing.clientWidth;
    return Boolean(this.plane) && width > 0 && width !== this.drawnWidth;
  }

  get pair() {
    return this.selects.map((select) => select.value);
  }

  /** At first the axes are features that the options change, numbers before categories. */
  start(answer) {
    const byName = new Map(this.usable.map((feature) => [feature.name, feature]));
    const changed = answer.ways.flatMap((way) => way.changes.map(({ feature }) => byName.get(feature))).filter(Boolean);
    const isNumber = (feature) => !feature.values?.length;
    const first = [...new Set([...changed.filter(isNumber), ...this.usable.filter(isNumber), ...changed, ...this.usable])];
    this.selects.forEach((select, k) => (select.value = first[k].name));
  }

  /** The user chose a feature; the same one on the other axis is exchanged. */
  choose(k) {
    if (this.selects[k].value === this.selects[1 - k].value) this.selects[1 - k].value = this.before[k];
    this.refresh();
  }

  async update(state, row, answer, selected) {
    if (!this.selects || !row.values) return;
    Object.assign(this, { state, row, answer, selected });
    if (!answer) return this.clear();
    if (!this.before) this.start(answer);
    await this.refresh();
  }

  clear() {
    this.request?.abort();
    markBusy(this.node, false);
    [this.plane, this.drawnFor, this.dragging, this.held] = [null, null, null, false];
    fill(this.drawing);
    fill(this.key);
    this.readout.textContent = "";
  }

  /** Draw the marks, and request the predictions unless they are the same: they do not depend on the row's place in the plane. */
  async refresh() {
    const [x_feature, y_feature] = (this.before = this.pair);
    const { [x_feature]: _x, [y_feature]: _y, ...edits } = this.state.edits;
    const wanted = JSON.stringify([{ ...this.state, edits }, this.before, this.whole]);
    this.zoom.setAttribute("aria-pressed", String(this.whole));
    const isDrawn = this.dragging || (wanted === this.drawnFor && this.isInside());
    markBusy(this.node, !isDrawn, this.drawnRow !== this.state.row);
    if (isDrawn) return this.drawMarks();
    this.request?.abort();
    this.request = new AbortController();
    try {
      const body = { question: this.state, x_feature, y_feature, whole: this.whole };
      this.plane = await post("/api/plane", body, this.request.signal);
      [this.drawnFor, this.drawnRow] = [wanted, body.question.row];
      markBusy(this.node, false);
      this.draw();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.clear();
      this.tools.notify(error.message);
    }
  }

  /** Whether the row and the options are in the window. */
  isInside() {
    const { low, high } = this.plane;
    return [this.rowAt(), ...this.waysAt()].every((point) => point.every((value, k) => value >= low[k] && value <= high[k]));
  }

  /** The values of the row on the two axes; a missing one is drawn at the lower end. */
  rowAt() {
    if (this.dragging) return this.dragging;
    return this.pair.map((name, k) => this.valueOf(name) ?? this.plane.low[k]);
  }

  valueOf(name) {
    const edited = lookUp(this.state.edits, name);
    return edited !== undefined ? edited : this.row.values[this.scene.features.findIndex((feature) => feature.name === name)];
  }

  waysAt() {
    const start = this.pair.map((name, k) => this.valueOf(name) ?? this.plane.low[k]);
    return this.answer.ways.map((way) =>
      this.pair.map((name, k) => way.changes.find(({ feature }) => feature === name)?.to_value ?? start[k]),
    );
  }

  draw() {
    const { plane } = this;
    if (!this.drawing.clientWidth) return; // the panel is hidden; it is drawn when it gets a width
    const width = (this.drawnWidth = this.drawing.clientWidth);
    const height = Math.round(Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, 0.56 * width)));
    const axes = drawAxes(plane, width, height);
    Object.assign(this, { area: axes.area });
    this.marks = h("svg:g", {});
    this.handle = h("svg:rect", {
      class: "handle",
      width: 32,
      height: 32,
      tabindex: "0",
      role: "application",
      "aria-roledescription": "movable row",
      onkeydown: (event) => this.moveByKey(event),
      onkeyup: () => this.release(),
      onblur: () => this.release(),
    });
    const drawing = h(
      "svg:svg",
      {
        class: "plane",
        width,
        height,
        viewBox: `0 0 ${width} ${height}`,
        role: "group",
        "aria-label": `What the model says over ${plane.axes[0].label} and ${plane.axes[1].label}, with the row and ${this.answer.ways.length} options`,
      },
      this.background(),
      axes.nodes,
      this.marks,
      this.handle,
    );
    const focused = document.activeElement?.classList.contains("handle") && this.drawing.contains(document.activeElement);
    fill(this.drawing, drawing);
    if (focused) this.handle.focus({ preventScroll: true });
    this.listen(drawing);
    this.drawKey();
    this.drawMarks();
  }

  toScreen([a, b]) {
    const { low, high } = this.plane;
    const { left, top, width, height } = this.area;
    return [left + ((a - low[0]) / (high[0] - low[0])) * width, top + height - ((b - low[1]) / (high[1] - low[1])) * height];
  }

  toValues(x, y) {
    const { low, high } = this.plane;
    const { left, top, width, height } = this.area;
    const inside = (share) => Math.min(1, Math.max(0, share));
    return [
      low[0] + inside((x - left) / width) * (high[0] - low[0]),
      low[1] + inside((top + height - y) / height) * (high[1] - low[1]),
    ];
  }

  background() {
    const { regions, raster } = this.plane;
    if (!regions) return h("svg:image", { class: "raster", href: this.paint(raster), ...frameOf(this.area), preserveAspectRatio: "none" });
    return regions.map((one) =>
      h("svg:polygon", {
        points: one.corners.map((corner) => this.toScreen(corner).join(",")).join(" "),
        fill: one.number === null ? fillOf(one.class_index) : `rgb(${this.colourOfNumber(one.number).join(" ")})`,
        class: "region",
      }),
    );
  }

  /** The ends of the colours: those of the numbers that are shown, or 0 and 1 for a probability. */
  get ends() {
    const { scale, raster, regions } = this.plane;
    if (scale.output >= 0) return [0, 1];
    if (raster) return [raster.low, raster.high];
    const numbers = regions.map(({ number }) => number);
    return [Math.min(...numbers), Math.max(...numbers)];
  }

  colourOfNumber(number) {
    const [low, high] = this.ends;
    return colourOfShare(high > low ? (number - low) / (high - low) : 0.5);
  }

  /** The raster as an image; the page decodes its cells once. */
  paint(raster) {
    raster.bytes = Uint8Array.from(atob(raster.cells), (letter) => letter.charCodeAt(0));
    const node = h("canvas", { width: raster.width, height: raster.height });
    const pixels = new ImageData(raster.width, raster.height);
    const colours = new Map();
    raster.bytes.forEach((byte, k) => {
      if (!colours.has(byte)) colours.set(byte, this.plane.scale ? this.colourOfNumber(this.numberOf(byte)) : colourOf(byte));
      pixels.data.set([...colours.get(byte), 255], 4 * k);
    });
    node.getContext("2d").putImageData(pixels, 0, 0);
    return node.toDataURL();
  }

  numberOf = (byte) => this.plane.raster.low + (byte / 254) * (this.plane.raster.high - this.plane.raster.low);

  /** What the model says at a point, in words. */
  saysAt([a, b]) {
    const { low, high, regions, raster, scale } = this.plane;
    let [index, number] = [-1, null];
    if (regions) {
      const found = regions.find((one) => contains(one.corners, [a, b]));
      if (!found) return "";
      [index, number] = [found.class_index, found.number];
    } else {
      const cell = (share, size) => Math.min(size - 1, Math.max(0, Math.floor(share * size)));
      const column = cell((a - low[0]) / (high[0] - low[0]), raster.width);
      const line = cell((high[1] - b) / (high[1] - low[1]), raster.height);
      const byte = raster.bytes[line * raster.width + column];
      [index, number] = scale ? [-1, this.numberOf(byte)] : [byte, null];
      if (raster.others && byte === 255) return "one of the other classes";
    }
    if (number === null) return this.scene.classes[index];
    if (scale.output >= 0) return `${this.scene.classes[scale.output]} ${percentText(number)}`;
    return Number(number.toPrecision(4)).toLocaleString("en-US");
  }

  wordsAt(point) {
    const { axes, low, high } = this.plane;
    return axes.map((axis, k) => `${axis.label} ${valueText(axis, point[k], low[k], high[k])}`).join(", ");
  }

  drawMarks() {
    if (!this.plane) return;
    const row = this.rowAt();
    const ways = this.waysAt();
    const others = this.answer.ways.map((way) => way.changes.some(({ feature }) => !this.pair.includes(feature)));
    const points = ways.map((point, k) => ({ at: this.toScreen(point), others: others[k], selected: k === this.selected }));
    const [x, y] = this.toScreen(row);
    fill(this.marks, ...drawMarks([x, y], points, this.area, this.tools.select));
    this.handle.setAttribute("x", x - 16);
    this.handle.setAttribute("y", y - 16);
    this.handle.setAttribute("aria-label", `The row: ${this.wordsAt(row)}. The arrow keys move it.`);
    if (!this.pointed) this.readout.textContent = this.sentence();
  }

  sentence() {
    const missing = this.pair.filter((name) => this.valueOf(name) === null).map((name) => this.labelOf(name));
    if (missing.length) return `${missing.join(" and ")} ${missing.length > 1 ? "are" : "is"} missing in this row, which is drawn at the edge.`;
    return "All other features have the values of the row.";
  }

  labelOf = (name) => nameOf(this.scene.features.find((feature) => feature.name === name));

  drawKey() {
    const { scale, regions, raster } = this.plane;
    const [low, high] = scale ? this.ends : [0, 1];
    const write = (number) => (scale.output >= 0 ? percentText(number) : Number(number.toPrecision(4)).toLocaleString("en-US"));
    const share = (end, fallback) => (end === null ? fallback : Math.min(1, Math.max(0, (end - low) / (high - low || 1))));
    const goal = scale && scale.goal.some((end) => end !== null) ? [share(scale.goal[0], 0), share(scale.goal[1], 1)] : null;
    const name = scale?.output >= 0 ? `probability of ${this.scene.classes[scale.output]}: ` : "";
    const used = scale ? [] : [...new Set(regions ? regions.map((one) => one.class_index) : raster.bytes)].sort((a, b) => a - b);
    fill(
      this.key,
      scale ? scaleLegend([name + write(low), write(high)], goal) : legend(this.scene.classes, used),
      h(
        "ul",
        { class: "legend" },
        h("li", {}, sample("svg:rect", { class: "source-point", x: 3, y: 1, width: 12, height: 12 }), "the row: drag it, or use the arrow keys"),
        h("li", {}, sample("svg:circle", { class: "dot", cx: 9, cy: 7, r: 5 }), "an option"),
        h("li", {}, sample("svg:circle", { class: "dot hollow", cx: 9, cy: 7, r: 5 }), "an option that also changes other features"),
      ),
    );
  }

  listen(drawing) {
    const place = (event) => {
      const box = drawing.getBoundingClientRect();
      return this.toValues(event.clientX - box.left, event.clientY - box.top);
    };
    this.handle.addEventListener("pointerdown", (event) => {
      this.handle.setPointerCapture(event.pointerId);
      this.held = true;
      event.preventDefault();
      this.handle.focus({ preventScroll: true });
    });
    this.handle.addEventListener("pointermove", (event) => this.held && this.moveTo(place(event)));
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
      this.handle.addEventListener(end, () => {
        this.held = false;
        this.release();
      });
    drawing.addEventListener("pointermove", (event) => {
      const point = place(event);
      this.pointed = true;
      const snapped = this.plane.axes.map((axis, k) => snap(axis, point[k], this.plane.low[k], this.plane.high[k]));
      this.readout.textContent = `${this.wordsAt(snapped)}: ${this.plane.regions ? "the model says" : "about here, the model says"} ${this.saysAt(snapped)}.`;
    });
    drawing.addEventListener("pointerleave", () => {
      this.pointed = false;
      this.readout.textContent = this.sentence();
    });
  }

  /** Move the row to allowed values near a point; the answer follows. */
  moveTo(point) {
    const { axes } = this.plane;
    const bounds = this.pair.map((name) => this.scene.features.find((feature) => feature.name === name));
    const next = axes.map((axis, k) => {
      const low = Math.max(this.plane.low[k], bounds[k].lower ?? -Infinity);
      const high = Math.min(this.plane.high[k], bounds[k].upper ?? Infinity);
      const last = (bounds[k].values?.length ?? Infinity) - 1; // a row is not moved to "missing"
      return Math.min(last, snap(axis, point[k], low, high));
    });
    if (next.every((value, k) => value === this.rowAt()[k])) return;
    this.dragging = next;
    this.change(this.movedState(), true);
    this.drawMarks();
  }

  /** The state with the row at the place to which it is dragged; an edit back to the row's value is dropped. */
  movedState() {
    const { state } = this.tools; // that of the page, whose answer may be on its way
    const edits = { ...state.edits };
    this.pair.forEach((name, k) => {
      const original = this.row.values[this.scene.features.findIndex((feature) => feature.name === name)];
      if (this.dragging[k] === original) delete edits[name];
      else if (this.dragging[k] !== this.valueOf(name)) edits[name] = this.dragging[k];
    });
    return { ...state, edits };
  }

  /** The end of a move is one step of the history. */
  release() {
    if (!this.dragging || this.held) return;
    const state = this.movedState();
    this.dragging = null;
    this.change(state);
  }

  moveByKey(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const { low, high, axes } = this.plane;
    const now = this.rowAt();
    this.moveTo(
      now.map((value, k) => {
        const size = axes[k].step ?? 0;
        const stride = Math.max(size, ((high[k] - low[k]) / STEPS) * (axes[k].values ? 0 : 1)) * (event.shiftKey ? 10 : 1);
        return value + way[k] * (size ? Math.round(stride / size) * size : stride);
      }),
    );
  }
}

const frameOf = ({ left, top, width, height }) => ({ x: left, y: top, width, height });

const sample = (tag, attributes) => h("svg:svg", { width: 18, height: 14, "aria-hidden": "true" }, h(tag, attributes));

/** Whether a convex polygon contains a point. */
function contains(corners, [x, y]) {
  return corners.every(([ax, ay], k) => {
    const [bx, by] = corners[(k + 1) % corners.length];
    return (bx - ax) * (y - ay) - (by - ay) * (x - ax) >= -1e-9 * Math.abs((bx - ax) * (by - ay) || 1);
  });
}
