// A row that is an image: the source, the answers, their differences, and a brush that locks pixels.

import { button, fill, h } from "../../lib/dom.js";
import { drawDifference, drawImage } from "../../lib/pixels.js";

const INKS = { any: "add or erase ink", add: "only add ink", erase: "only erase ink" };
const SIDE = 168; // screen pixels

export class ImageView {
  constructor(scene, change) {
    this.scene = scene;
    this.change = change;
    const shorter = Math.min(...scene.shape);
    this.brush = new Brush(scene.shape, (locked_pixels, live) => change({ ...this.state, locked_pixels }, live));
    this.inks = Object.entries(INKS).map(([ink, label]) => {
      const radio = h("input", { type: "radio", name: "ink", value: ink, onchange: () => change({ ...this.state, ink }) });
      return [radio, h("label", { class: "segment" }, radio, label)];
    });
    this.size = h("input", {
      type: "range",
      id: "brush",
      min: 0,
      max: Math.floor(shorter / 6),
      value: Math.floor(shorter / 16),
    });
    this.size.addEventListener("input", () => (this.brush.radius = this.size.valueAsNumber));
    this.brush.radius = this.size.valueAsNumber;
    this.unlockAll = button("Unlock all pixels", () => change({ ...this.state, locked_pixels: [] }));
    this.lockEmpty = button("Lock the empty pixels", () => change({ ...this.state, locked_pixels: this.withEmpty() }));
    this.results = h("div", { class: "results" });
    this.count = h("p", { class: "quiet", role: "status" });
    this.node = h(
      "div",
      { class: "image" },
      h(
        "figure",
        {},
        h("figcaption", {}, "Paint over pixels to lock them"),
        this.brush.node,
        this.count,
        h("div", { class: "field" }, h("label", { for: "brush" }, "Brush"), this.size),
        h(
          "fieldset",
          { class: "segments" },
          h("legend", {}, "The answer may"),
          this.inks.map(([, label]) => label),
        ),
        h("div", { class: "group" }, this.lockEmpty, this.unlockAll),
      ),
      this.results,
    );
  }

  /** The locked pixels and those without ink. */
  withEmpty() {
    const locked = new Set(this.state.locked_pixels);
    return this.values.flatMap((value, k) => (value === this.levels.low || locked.has(k) ? [k] : []));
  }

  update(state, row, answer) {
    this.state = state;
    this.values = row.values;
    this.levels = answer?.image ?? this.levels ?? { low: Math.min(...row.values), high: Math.max(...row.values) };
    for (const [radio] of this.inks) radio.checked = radio.value === state.ink;
    this.brush.update(this.levels, row.values, state.locked_pixels);
    this.unlockAll.disabled = !state.locked_pixels.length;
    this.count.textContent = state.locked_pixels.length
      ? `${state.locked_pixels.length} of ${row.values.length} pixels locked`
      : "no pixel locked";
    fill(
      this.results,
      (answer?.answers ?? []).map((one, k) =>
        h(
          "figure",
          {},
          h(
            "figcaption",
            {},
            h("strong", {}, `#${k + 1}: ${one.label}`),
            h("span", { class: one.confirmed ? "good" : "bad" }, one.confirmed ? " ✓ " : " ✗ "),
            h("span", { class: "quiet" }, `cost ${one.cost}, ${one.n_changes} pixels`),
          ),
          h(
            "div",
            { class: "pair" },
            drawImage(answer.image, answer.image.answers[k], this.scene.shape, SIDE),
            drawDifference(answer.image, k, this.scene.shape, SIDE),
          ),
        ),
      ),
      answer?.answers.length > 0 &&
        h(
          "p",
          { class: "quiet" },
          "Left: the answer. Right: the difference; ",
          h("span", { class: "more" }, "blue means more ink"),
          ", ",
          h("span", { class: "less" }, "red means less"),
          ".",
        ),
    );
  }
}

/** The source with its locked pixels, which the user paints with the pointer or with the arrow keys and space. */
class Brush {
  constructor([height, width], paint) {
    Object.assign(this, { height, width, paint, radius: 0, locked: new Set() });
    this.cursor = [Math.floor(height / 2), Math.floor(width / 2)];
    const pixel = Math.max(4, Math.round(288 / Math.max(height, width)));
    this.pixel = pixel;
    this.node = h("canvas", {
      width: width * pixel,
      height: height * pixel,
      class: "brush",
      tabindex: "0",
      role: "application",
      "aria-label": "Source image. The arrow keys move, the space bar locks or unlocks the pixel.",
    });
    this.node.addEventListener("pointerdown", (event) => {
      const place = this.pixelAt(event);
      this.locking = !this.locked.has(place[0] * width + place[1]);
      this.node.setPointerCapture(event.pointerId);
      this.paintAt(place, true);
    });
    this.node.addEventListener(
      "pointermove",
      (event) => event.buttons && this.locking !== undefined && this.paintAt(this.pixelAt(event), true),
    );
    for (const end of ["pointerup", "pointercancel"]) {
      this.node.addEventListener(end, () => {
        this.locking = undefined;
        this.report(false);
      });
    }
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.node.addEventListener("focus", () => this.draw());
    this.node.addEventListener("blur", () => this.draw());
  }

  /** The row and the column of the pixel under the pointer. */
  pixelAt(event) {
    const box = this.node.getBoundingClientRect();
    const inside = (share, size) => Math.min(size - 1, Math.max(0, Math.floor(share * size)));
    return [
      inside((event.clientY - box.top) / box.height, this.height),
      inside((event.clientX - box.left) / box.width, this.width),
    ];
  }

  /** Lock or unlock the pixels under the brush. */
  paintAt([row, column], live) {
    for (let r = row - this.radius; r <= row + this.radius; r++) {
      for (let c = column - this.radius; c <= column + this.radius; c++) {
        if (r < 0 || c < 0 || r >= this.height || c >= this.width || (r - row) ** 2 + (c - column) ** 2 > this.radius ** 2 + 1)
          continue;
        if (this.locking) this.locked.add(r * this.width + c);
        else this.locked.delete(r * this.width + c);
      }
    }
    this.draw();
    this.report(live);
  }

  report(live) {
    this.paint(
      [...this.locked].sort((a, b) => a - b),
      live,
    );
  }

  key(event) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (move)
      this.cursor = [
        Math.min(this.height - 1, Math.max(0, this.cursor[0] + move[0])),
        Math.min(this.width - 1, Math.max(0, this.cursor[1] + move[1])),
      ];
    else if (event.key === " ") {
      this.locking = !this.locked.has(this.cursor[0] * this.width + this.cursor[1]);
      this.paintAt(this.cursor, false);
      this.locking = undefined;
    } else return;
    event.preventDefault();
    this.draw();
  }

  update(levels, values, locked) {
    this.levels = levels;
    this.values = values;
    if (this.locking === undefined) this.locked = new Set(locked);
    this.draw();
  }

  draw() {
    const pen = this.node.getContext("2d");
    const { pixel, width } = this;
    const { low, high } = this.levels;
    this.values.forEach((value, k) => {
      const grey = Math.round(255 * (1 - (value - low) / (high - low || 1)));
      pen.fillStyle = `rgb(${grey}, ${grey}, ${grey})`;
      const [x, y] = [(k % width) * pixel, Math.floor(k / width) * pixel];
      pen.fillRect(x, y, pixel, pixel);
      if (!this.locked.has(k)) return;
      pen.fillStyle = "rgba(213, 94, 0, 0.42)";
      pen.fillRect(x, y, pixel, pixel);
      pen.strokeStyle = "rgba(120, 50, 0, 0.9)"; // a stroke in addition to the colour
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(x + 1, y + pixel - 1);
      pen.lineTo(x + pixel - 1, y + 1);
      pen.stroke();
    });
    if (document.activeElement === this.node) {
      pen.strokeStyle = "#0072b2";
      pen.lineWidth = 2;
      pen.strokeRect(this.cursor[1] * pixel + 1, this.cursor[0] * pixel + 1, pixel - 2, pixel - 2);
    }
  }
}
