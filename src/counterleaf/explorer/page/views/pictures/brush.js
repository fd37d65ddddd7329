// A brush that locks the pixels of an image.

import { h } from "../../lib/dom.js";

/** The source with its locked pixels, which the user paints with the pointer or with the arrow keys and space. */
export class Brush {
  constructor([height, width], paint) {
    Object.assign(this, { height, width, paint, radius: 0, locked: new Set() });
    this.cursor = [Math.floor(height / 2), Math.floor(width / 2)];
    const pixel = Math.max(4, Math.round(336 / Math.max(height, width)));
    this.pixel = pixel;
    this.node = h("canvas", {
      width: width * pixel,
      height: height * pixel,
      class: "brush",
      tabindex: "0",
      role: "application",
      "aria-label": "The row as an image. The arrow keys move, the space bar locks or unlocks the pixel.",
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
      for (const [colour, size] of [
        ["#fff", Math.max(3, pixel / 9)],
        ["#000", Math.max(1, pixel / 24)],
      ]) {
        pen.strokeStyle = colour; // a cross that is visible on dark and light pixels
        pen.lineWidth = size;
        pen.beginPath();
        pen.moveTo(x + 0.2 * pixel, y + 0.8 * pixel);
        pen.lineTo(x + 0.8 * pixel, y + 0.2 * pixel);
        pen.moveTo(x + 0.2 * pixel, y + 0.2 * pixel);
        pen.lineTo(x + 0.8 * pixel, y + 0.8 * pixel);
        pen.stroke();
      }
    });
    if (document.activeElement === this.node) {
      for (const [colour, inset] of [
        ["#fff", 3],
        ["#000", 1],
      ]) {
        pen.strokeStyle = colour;
        pen.lineWidth = 2;
        pen.strokeRect(this.cursor[1] * pixel + inset, this.cursor[0] * pixel + inset, pixel - 2 * inset, pixel - 2 * inset);
      }
    }
  }
}
