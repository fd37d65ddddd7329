// All rows as points: two axes, the colour and shape of the class or the colour of the value, the size of the effort.

import { colourOf, colourOfShare, scaleLegend } from "../../lib/class_colours.js";
import { h, fill } from "../../lib/dom.js";
import { Axis, formatEffort, saysText } from "./axis.js";
import { CANNOT } from "./rows_data.js";

const [TOP, RIGHT, BELOW] = [12, 14, 54]; // pixels around the points
const NAME = 24; // pixels for the name of the vertical axis
const FONT = "12px system-ui, -apple-system, 'Segoe UI', sans-serif";
const REACH = 14; // pixels between the pointer and a point that it hits

const rgb = (parts) => `rgb(${parts.join(" ")})`;

/** The radius of a point; an effort that is not known yet has the smallest one. */
const radiusOf = (effort) => (effort ? 3.2 + 8 * Math.sqrt(Math.min(effort, 1)) : 3);

const SHAPES = [
  (path, x, y, r) => (path.moveTo(x + r, y), path.arc(x, y, r, 0, 2 * Math.PI)),
  (path, x, y, r) => path.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r),
  (path, x, y, r) => (path.moveTo(x, y - 1.2 * r), path.lineTo(x + 1.1 * r, y + 0.8 * r), path.lineTo(x - 1.1 * r, y + 0.8 * r), path.closePath()),
  (path, x, y, r) => (path.moveTo(x, y - 1.3 * r), path.lineTo(x + 1.3 * r, y), path.lineTo(x, y + 1.3 * r), path.lineTo(x - 1.3 * r, y), path.closePath()),
];

export class Scatter {
  /** `choose(row)` is called for a clicked point, `describe(row)` returns the lines of its tooltip. */
  constructor(scene, choose, describe) {
    Object.assign(this, { scene, describe });
    this.canvas = h("canvas", { class: "rows-canvas", role: "img" });
    this.tip = h("div", { class: "rows-tip", hidden: true });
    this.legend = h("div", { class: "rows-legend" });
    this.probe = h("span", { hidden: true });
    this.node = h("figure", { class: "rows-plot" }, h("div", { class: "rows-frame" }, this.canvas, this.tip, this.probe), this.legend);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.showTip(null));
    this.canvas.addEventListener("click", (event) => {
      const row = this.rowAt(event);
      if (row !== null) choose(row);
    });
    new ResizeObserver(() => this.draw()).observe(this.node.firstChild);
    this.themes = new MutationObserver(() => this.draw());
    this.themes.observe(document.documentElement, { attributeFilter: ["style"] });
    this.closing = new AbortController();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.draw(), { signal: this.closing.signal });
  }

  /** Stop listening to the themes, which would keep the rows of a model that the user left. */
  dispose() {
    this.themes.disconnect();
    this.closing.abort();
  }

  /** Show other data; `matches` are the rows that the filter leaves. */
  update(view) {
    this.view = view;
    this.draw();
  }

  colour(name) {
    this.probe.style.color = `var(${name})`;
    return getComputedStyle(this.probe).color;
  }

  /** Draw again; nothing happens while the tab is closed. */
  draw() {
    const width = this.node.firstChild.clientWidth;
    if (!width || !this.view) return;
    const height = Math.round(Math.min(Math.max(0.62 * width, 300), 520));
    const ratio = devicePixelRatio || 1;
    const { canvas } = this;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = FONT;
    const { data, x, y } = this.view;
    const [xs, ys] = [x.of(data), y.of(data)];
    this.points = null;
    if (!xs || !ys) return;
    const n = Math.min(data.n, xs.length, ys.length);
    const axisY = new Axis(y, ys, height - BELOW, TOP, 1);
    const labels = [...axisY.ticks(height / 60).map(([, text]) => text), ...(axisY.hasGap ? [y.gap] : [])];
    const widest = Math.max(...labels.map((text) => pen.measureText(text).width));
    this.left = Math.round(NAME + 10 + Math.min(widest, 0.22 * width));
    const axisX = new Axis(x, xs, this.left, width - RIGHT, 0);
    this.shrink = data.n > 2000 ? 0.7 : 1;
    this.drawAxes(pen, axisX, axisY, width, height);
    this.points = { x: new Float32Array(n), y: new Float32Array(n), n };
    for (let row = 0; row < n; row += 1) {
      this.points.x[row] = axisX.at(row);
      this.points.y[row] = axisY.at(row);
    }
    this.drawPoints(pen);
    this.drawCurrent(pen);
    canvas.setAttribute("aria-label", `${x.label} and ${y.label} of ${this.view.matches.length} rows; the table lists the same rows`);
    this.drawLegend();
  }

  drawAxes(pen, axisX, axisY, width, height) {
    const [ink, quiet, border] = ["--ink", "--quiet", "--border"].map((name) => this.colour(name));
    const { left } = this;
    pen.lineWidth = 1;
    pen.strokeStyle = border;
    pen.fillStyle = quiet;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    let last = Infinity;
    for (const [at, text] of axisY.ticks(height / 60)) {
      line(pen, left, at, width - RIGHT, at);
      if (last - at < 14) continue;
      last = at;
      pen.fillText(shorten(pen, text, left - NAME - 8), left - 6, at);
    }
    if (axisY.hasGap) pen.fillText(shorten(pen, axisY.quantity.gap, left - NAME - 8), left - 6, axisY.gapAt);
    pen.textBaseline = "top";
    pen.textAlign = "center";
    let end = axisX.hasGap ? this.gapLabel(pen, axisX, height) : -Infinity;
    for (const [at, text] of axisX.ticks(width / 110)) {
      line(pen, at, TOP, at, height - BELOW);
      const label = shorten(pen, text, axisX.quantity.values ? Math.max(axisX.band - 8, 44) : 120);
      const half = pen.measureText(label).width / 2;
      const middle = Math.min(at, width - half - 2);
      if (middle - half < end + 8) continue;
      pen.fillText(label, middle, height - BELOW + 7);
      end = middle + half;
    }
    pen.fillStyle = ink;
    pen.font = `600 ${FONT}`;
    pen.fillText(shorten(pen, axisX.quantity.label, width - left - RIGHT), (left + width - RIGHT) / 2, height - 20);
    pen.save();
    pen.translate(4, (TOP + height - BELOW) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(shorten(pen, axisY.quantity.label, height - TOP - BELOW), 0, 0);
    pen.restore();
    pen.font = FONT;
  }

  gapLabel(pen, axis, height) {
    pen.fillText(axis.quantity.gap, axis.gapAt, height - BELOW + 7);
    return axis.gapAt + pen.measureText(axis.quantity.gap).width / 2;
  }

  /** The rows that do not match are faint; the largest points are drawn first, so that they do not cover others. */
  drawPoints(pen) {
    const { data, matches } = this.view;
    const [quiet, card] = ["--quiet", "--card"].map((name) => this.colour(name));
    const { x, y, n } = this.points;
    const chosen = new Uint8Array(n);
    for (const row of matches) chosen[row] = 1;
    pen.fillStyle = quiet;
    pen.globalAlpha = 0.22;
    for (let row = 0; row < n; row += 1) if (!chosen[row]) pen.fillRect(x[row] - 1, y[row] - 1, 2, 2);
    const order = Array.from(matches).filter((row) => row < n);
    order.sort((a, b) => (data.effort[b] ?? -1) - (data.effort[a] ?? -1));
    const range = this.valueRange();
    pen.globalAlpha = order.length > 3000 ? 0.7 : 0.9;
    pen.lineWidth = 0.7;
    for (const row of order) {
      const says = data.says[row];
      if (says === undefined || says === null) {
        pen.fillStyle = quiet;
        pen.fillRect(x[row] - 1.5, y[row] - 1.5, 3, 3);
        continue;
      }
      const isValue = this.scene.kind === "value";
      const colour = rgb(isValue ? colourOfShare((says - range[0]) / (range[1] - range[0] || 1)) : colourOf(says));
      if (data.status[row] === CANNOT) {
        cross(pen, x[row], y[row], colour);
        continue;
      }
      pen.beginPath();
      SHAPES[isValue ? 0 : says % SHAPES.length](pen, x[row], y[row], this.shrink * radiusOf(data.effort[row]));
      pen.fillStyle = colour;
      pen.fill();
      pen.strokeStyle = card;
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  /** A ring and the number of the row that is explained. */
  drawCurrent(pen) {
    const { row } = this.view;
    if (!(row < this.points.n)) return;
    const [ink, card] = ["--ink", "--card"].map((name) => this.colour(name));
    const [x, y] = [this.points.x[row], this.points.y[row]];
    for (const [width, colour] of [
      [5, card],
      [2.2, ink],
    ]) {
      pen.lineWidth = width;
      pen.strokeStyle = colour;
      pen.beginPath();
      pen.arc(x, y, radiusOf(this.view.data.effort[row]) + 4, 0, 2 * Math.PI);
      pen.stroke();
    }
    const text = `row ${row}`;
    const right = x + 22 + pen.measureText(text).width < this.canvas.clientWidth;
    pen.textBaseline = "middle";
    pen.textAlign = right ? "left" : "right";
    pen.lineWidth = 4;
    pen.strokeStyle = card;
    pen.fillStyle = ink;
    const at = x + (right ? 18 : -18);
    pen.strokeText(text, at, y);
    pen.fillText(text, at, y);
  }

  valueRange() {
    if (this.scene.kind !== "value") return [0, 1];
    const known = this.view.data.says.filter((value) => value !== null);
    return known.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  }

  drawLegend() {
    const { data } = this.view;
    const isValue = this.scene.kind === "value";
    const used = isValue ? [] : [...new Set(data.says.filter((one) => one !== null))].sort((a, b) => a - b);
    const key = JSON.stringify([used, isValue && this.valueRange()]);
    if (key === this.legendKey) return;
    this.legendKey = key;
    const swatch = (paint, side = 16) => {
      const node = h("canvas", { width: 2 * side, height: 2 * side, "aria-hidden": "true" });
      node.style.width = node.style.height = `${side}px`;
      const pen = node.getContext("2d");
      pen.scale(2, 2);
      paint(pen, side / 2);
      return node;
    };
    const point = (k) => (pen, middle) => {
      pen.beginPath();
      SHAPES[k % SHAPES.length](pen, middle, middle, 5.5);
      pen.fillStyle = rgb(colourOf(k));
      pen.fill();
    };
    const size = (effort) => (pen, middle) => {
      pen.beginPath();
      pen.arc(middle, middle, radiusOf(effort), 0, 2 * Math.PI);
      pen.fillStyle = this.colour("--quiet");
      pen.fill();
    };
    const [low, high] = isValue ? this.valueRange() : [0, 0];
    fill(
      this.legend,
      isValue && low <= high && scaleLegend([saysText(this.scene, low), saysText(this.scene, high)]),
      h(
        "ul",
        { class: "rows-keys", hidden: isValue },
        used.slice(0, 12).map((k) => h("li", {}, swatch(point(k)), this.scene.classes[k])),
      ),
      h(
        "ul",
        { class: "rows-keys" },
        h("li", {}, swatch(size(0), 24), "no effort"),
        [0.1, 0.5, 1].map((effort) => h("li", {}, swatch(size(effort), 24), formatEffort(effort) + (effort === 1 ? " or more" : ""))),
        data.status.includes(CANNOT) && h("li", {}, swatch((pen, middle) => cross(pen, middle, middle, this.colour("--quiet"))), "no way"),
      ),
    );
  }

  /** The row of the nearest point that matches, or null. */
  rowAt(event) {
    if (!this.points) return null;
    const box = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let [best, least] = [null, REACH ** 2];
    for (const row of this.view.matches) {
      if (row >= this.points.n) continue;
      const distance = (this.points.x[row] - px) ** 2 + (this.points.y[row] - py) ** 2;
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  }

  hover(event) {
    const row = this.rowAt(event);
    this.canvas.classList.toggle("hit", row !== null);
    this.showTip(row);
  }

  showTip(row) {
    this.tip.hidden = row === null;
    if (row === null) return;
    fill(this.tip, this.describe(row).map((text, k) => h(k ? "span" : "strong", {}, text)));
    const [x, y] = [this.points.x[row], this.points.y[row]];
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [w, tall] = [this.tip.offsetWidth, this.tip.offsetHeight];
    this.tip.style.left = `${Math.max(0, x + 16 + w < width ? x + 16 : x - 16 - w)}px`;
    this.tip.style.top = `${Math.max(0, y + 16 + tall < height ? y + 16 : y - 16 - tall)}px`;
  }
}

function line(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  pen.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
  pen.stroke();
}

function cross(pen, x, y, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const [dx, dy] of [
    [4, 4],
    [4, -4],
  ]) {
    pen.moveTo(x - dx, y - dy);
    pen.lineTo(x + dx, y + dy);
  }
  pen.stroke();
  pen.lineWidth = 0.7;
}

/** The text, cut so that it fits into a width. */
function shorten(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}
