// A row that is a picture: source, answers, what they change, and a brush that locks pixels.

import { button, fill, h } from "./dom.js";
import { drawDifference, drawPicture } from "./picture.js";

const INKS = { any: "add or erase ink", add: "only add ink", erase: "only erase ink" };
const SIDE = 224; // pixels of the screen

export class Image {
  constructor(scene, change) {
    this.scene = scene;
    this.change = change;
    const [tall, wide] = scene.shape;
    this.brush = new Brush(scene.shape, (locked, live) => change({ ...this.state, locked }, live));
    this.inks = Object.entries(INKS).map(([ink, words]) => {
      const radio = h("input", { type: "radio", name: "ink", value: ink, onchange: () => change({ ...this.state, ink }) });
      return [radio, h("label", { class: "segment" }, radio, words)];
    });
    this.size = h("input", {
      type: "range",
      id: "brush",
      min: 0,
      max: Math.floor(Math.min(tall, wide) / 6),
      value: Math.floor(Math.min(tall, wide) / 16),
    });
    this.size.addEventListener("input", () => (this.brush.reach = this.size.valueAsNumber));
    this.brush.reach = this.size.valueAsNumber;
    this.free = button("Unlock all pixels", () => change({ ...this.state, locked: [] }));
    this.rest = button("Lock the empty ones", () => change({ ...this.state, locked: this.withBlank() }));
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
        h("div", { class: "group" }, this.rest, this.free),
      ),
      this.results,
    );
  }

  /** The locked pixels and those without ink. */
  withBlank() {
    const locked = new Set(this.state.locked);
    return this.values.flatMap((value, k) => (value === this.scale.low || locked.has(k) ? [k] : []));
  }

  update(state, row, answer) {
    this.state = state;
    this.values = row.values;
    this.scale = answer?.picture ?? this.scale ?? { low: Math.min(...row.values), high: Math.max(...row.values) };
    for (const [radio] of this.inks) radio.checked = radio.value === state.ink;
    this.brush.update(this.scale, row.values, state.locked);
    this.free.disabled = !state.locked.length;
    this.count.textContent = state.locked.length
      ? `${state.locked.length} of ${row.values.length} pixels locked`
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
            h("span", { class: one.verified ? "good" : "bad" }, one.verified ? " ✓ " : " ✗ "),
            h("span", { class: "quiet" }, `cost ${one.cost}, ${one.changed} pixels`),
          ),
          h(
            "div",
            { class: "pair" },
            drawPicture(answer.picture, answer.picture.answers[k], this.scene.shape, SIDE * 0.75),
            drawDifference(answer.picture, k, this.scene.shape, SIDE * 0.75),
          ),
        ),
      ),
      answer?.answers.length > 0 &&
        h(
          "p",
          { class: "quiet" },
          "Left the answer, right what it changes: ",
          h("span", { class: "more" }, "blue is more ink"),
          ", ",
          h("span", { class: "less" }, "red is less"),
          ".",
        ),
    );
  }
}

/** The source with its locked pixels, painted by hand or, with arrows and space, by keys. */
class Brush {
  constructor([tall, wide], paint) {
    Object.assign(this, { tall, wide, paint, reach: 0, at: [Math.floor(tall / 2), Math.floor(wide / 2)], locked: new Set() });
    const scale = Math.max(4, Math.round(288 / Math.max(tall, wide)));
    this.pixel = scale;
    this.node = h("canvas", {
      width: wide * scale,
      height: tall * scale,
      class: "brush",
      tabindex: "0",
      role: "application",
      "aria-label": "Source picture. Arrows move, space locks or frees the pixel.",
    });
    this.node.addEventListener("pointerdown", (event) => {
      const place = this.placeOf(event);
      this.locking = !this.locked.has(place[0] * wide + place[1]);
      this.node.setPointerCapture(event.pointerId);
      this.touch(place, true);
    });
    this.node.addEventListener(
      "pointermove",
      (event) => event.buttons && this.locking !== undefined && this.touch(this.placeOf(event), true),
    );
    for (const end of ["pointerup", "pointercancel"]) {
      this.node.addEventListener(end, () => {
        this.locking = undefined;
        this.tell(false);
      });
    }
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.node.addEventListener("focus", () => this.draw());
    this.node.addEventListener("blur", () => this.draw());
  }

  placeOf(event) {
    const box = this.node.getBoundingClientRect();
    const inside = (part, most) => Math.min(most - 1, Math.max(0, Math.floor(part * most)));
    return [
      inside((event.clientY - box.top) / box.height, this.tall),
      inside((event.clientX - box.left) / box.width, this.wide),
    ];
  }

  touch([row, column], live) {
    for (let r = row - this.reach; r <= row + this.reach; r++) {
      for (let c = column - this.reach; c <= column + this.reach; c++) {
        if (r < 0 || c < 0 || r >= this.tall || c >= this.wide || (r - row) ** 2 + (c - column) ** 2 > this.reach ** 2 + 1)
          continue;
        if (this.locking) this.locked.add(r * this.wide + c);
        else this.locked.delete(r * this.wide + c);
      }
    }
    this.draw();
    this.tell(live);
  }

  tell(live) {
    this.paint(
      [...this.locked].sort((a, b) => a - b),
      live,
    );
  }

  key(event) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (move)
      this.at = [
        Math.min(this.tall - 1, Math.max(0, this.at[0] + move[0])),
        Math.min(this.wide - 1, Math.max(0, this.at[1] + move[1])),
      ];
    else if (event.key === " ") {
      this.locking = !this.locked.has(this.at[0] * this.wide + this.at[1]);
      this.touch(this.at, false);
      this.locking = undefined;
    } else return;
    event.preventDefault();
    this.draw();
  }

  update(scale, values, locked) {
    this.scale = scale;
    this.values = values;
    if (this.locking === undefined) this.locked = new Set(locked);
    this.draw();
  }

  draw() {
    const pen = this.node.getContext("2d");
    const { pixel, wide } = this;
    this.values.forEach((value, k) => {
      const grey = Math.round(255 * (1 - (value - this.scale.low) / (this.scale.high - this.scale.low || 1)));
      pen.fillStyle = `rgb(${grey}, ${grey}, ${grey})`;
      const [x, y] = [(k % wide) * pixel, Math.floor(k / wide) * pixel];
      pen.fillRect(x, y, pixel, pixel);
      if (!this.locked.has(k)) return;
      pen.fillStyle = "rgba(213, 94, 0, 0.42)";
      pen.fillRect(x, y, pixel, pixel);
      pen.strokeStyle = "rgba(120, 50, 0, 0.9)"; // a stroke as well as a colour
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(x + 1, y + pixel - 1);
      pen.lineTo(x + pixel - 1, y + 1);
      pen.stroke();
    });
    if (document.activeElement === this.node) {
      pen.strokeStyle = "#0072b2";
      pen.lineWidth = 2;
      pen.strokeRect(this.at[1] * pixel + 1, this.at[0] * pixel + 1, pixel - 2, pixel - 2);
    }
  }
}
