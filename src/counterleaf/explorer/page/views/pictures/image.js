// A row that is an image: the row, the selected option and its difference, the other options, and a brush that locks pixels.

import { button, fill, h } from "../../lib/dom.js";
import { drawDifference, drawImage } from "../../lib/pixels.js";
import { Brush } from "./brush.js";

const INKS = { any: "add or erase ink", add: "only add ink", erase: "only erase ink" };
const THUMBNAIL = 72; // screen pixels

export class ImageView {
  constructor(scene, change, tools) {
    Object.assign(this, { scene, change, tools });
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
      h("figure", { class: "row-image" }, h("figcaption", {}, h("strong", {}, "The row"), " – paint over pixels to lock them"), this.brush.node, this.count),
      this.results,
      h(
        "div",
        { class: "image-tools" },
        h("div", { class: "field" }, h("label", { for: "brush" }, "Brush"), this.size),
        h(
          "fieldset",
          { class: "segments" },
          h("legend", {}, "An option may"),
          this.inks.map(([, label]) => label),
        ),
        h("div", { class: "group" }, this.lockEmpty, this.unlockAll),
      ),
    );
  }

  /** The locked pixels and those without ink. */
  withEmpty() {
    const locked = new Set(this.state.locked_pixels);
    return this.values.flatMap((value, k) => (value === this.levels.low || locked.has(k) ? [k] : []));
  }

  update(state, row, answer, selected = 0) {
    this.state = state;
    this.values = row.values;
    this.levels = answer?.image ?? this.levels ?? { low: Math.min(...row.values), high: Math.max(...row.values) };
    for (const [radio] of this.inks) radio.checked = radio.value === state.ink;
    this.brush.update(this.levels, row.values, state.locked_pixels);
    this.unlockAll.disabled = !state.locked_pixels.length;
    this.count.textContent = state.locked_pixels.length
      ? `${state.locked_pixels.length} of ${row.values.length} pixels locked`
      : "no pixel locked";
    if (answer === undefined) return; // on its way: that of another row is hidden
    const ways = answer?.ways ?? [];
    fill(this.results, ways.length > 0 && [this.large(answer, selected), ways.length > 1 && this.thumbnails(answer, selected)]);
  }

  /** The selected option and its difference from the row. */
  large({ ways, image }, k) {
    const way = ways[k];
    return [
      h(
        "figure",
        {},
        h(
          "figcaption",
          {},
          h("span", { class: "rank" }, k + 1),
          h("strong", {}, ` ${way.label}`),
          h("span", { class: way.confirmed ? "good" : "bad" }, way.confirmed ? " ✓ " : " ✗ not confirmed "),
          !way.proved && h("span", { class: "warn" }, "not proved"),
        ),
        drawImage(image, image.answers[k], this.scene.shape, null, `option ${k + 1}: ${way.label}`),
        h("p", { class: "quiet" }, way.effort.words),
      ),
      h(
        "figure",
        {},
        h("figcaption", {}, h("strong", {}, "The difference")),
        drawDifference(image, k, this.scene.shape, null),
        h("p", { class: "quiet" }, h("span", { class: "more" }, "teal: more ink"), ", ", h("span", { class: "less" }, "brown: less ink")),
      ),
    ];
  }

  /** All options, to select one. */
  thumbnails({ ways, image }, selected) {
    return h(
      "div",
      { class: "thumbnails", role: "group", "aria-label": "Options" },
      ways.map((way, k) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(k === selected),
            "aria-label": `show option ${k + 1}: ${way.label}`,
            onclick: () => this.tools.select(k),
          },
          drawImage(image, image.answers[k], this.scene.shape, THUMBNAIL, ""),
          drawDifference(image, k, this.scene.shape, THUMBNAIL, ""),
          h("span", { class: "rank" }, k + 1),
        ),
      ),
    );
  }
}
