// The plane of two numeric features: the prediction in each region, the row and the answers.

import { post } from "../../lib/api.js";
import { displayName, fill, h, lookUp, shortNumber } from "../../lib/dom.js";
import { fillOf, legend } from "../../lib/class_colours.js";

const [WIDTH, HEIGHT, LEFT, TOP, BELOW] = [640, 460, 74, 10, 46];

export class Plane {
  constructor(scene) {
    Object.assign(this, { scene, node: h("div", {}) });
    this.drawing = h("div", {});
  }

  async update(state, row, answer) {
    this.request?.abort();
    Object.assign(this, { state, row, answer });
    if (!answer) return this.showMessage("");
    if (!this.chosen) this.build(this.scene, answer);
    if (!this.pair) return;
    const [x_feature, y_feature] = this.pair;
    if (x_feature === y_feature) return this.showMessage("Choose two different features.");
    this.request = new AbortController();
    try {
      this.draw(await post("/api/plane", { question: state, x_feature, y_feature }, this.request.signal));
    } catch (error) {
      if (error.name !== "AbortError") this.showMessage(error.message);
    }
  }

  /** Build the fields for the two features; at first they show features that the cheapest answer changes. */
  build(scene, answer) {
    const numbers = scene.features.filter((feature) => feature.kind === "number").map((feature) => feature.name);
    if (numbers.length < 2) return fill(this.node, h("p", {}, "A plane needs two numeric features; this model has fewer."));
    const changed = numbers.filter((name) => lookUp(answer?.changes, name));
    const best = changed.filter((name) => lookUp(answer.changes, name).to[0] !== "="); // by the cheapest answer
    const pair = [...new Set([...best, ...changed, ...numbers])].slice(0, 2);
    const pick = (k, label) => {
      const select = h(
        "select",
        { id: `plane-${k}`, onchange: () => ((this.chosen = true), this.update(this.state, this.row, this.answer)) },
        numbers.map((name) => h("option", { value: name }, displayName(name))),
      );
      select.value = pair[k];
      return [select, h("div", { class: "field" }, h("label", { for: select.id }, label), select)];
    };
    const [[x, xField], [y, yField]] = [pick(0, "Horizontal axis"), pick(1, "Vertical axis")];
    Object.assign(this, { x, y });
    fill(this.node, h("div", { class: "above" }, xField, yField), this.drawing);
  }

  get pair() {
    return this.x && [this.x.value, this.y.value];
  }

  draw(plane) {
    const [low, high] = [plane.low, plane.high];
    const toX = (v) => LEFT + ((v - low[0]) / (high[0] - low[0])) * WIDTH;
    const toY = (v) => TOP + HEIGHT - ((v - low[1]) / (high[1] - low[1])) * HEIGHT;
    const position = ([a, b]) => [toX(a), toY(b)];
    const regions = plane.regions.map((one) =>
      h("svg:polygon", {
        points: one.corners.map((corner) => position(corner).join(",")).join(" "),
        fill: fillOf(one.class_index),
        class: "region",
      }),
    );
    const [sx, sy] = position(plane.source);
    const arrows = plane.answers.map((point, k) => {
      const [ax, ay] = position(point);
      return h(
        "svg:g",
        {},
        h("svg:line", { class: "move", x1: sx, y1: sy, x2: ax, y2: ay }),
        h("svg:circle", { class: plane.changes_others[k] ? "answer hollow" : "answer", cx: ax, cy: ay, r: 6 }),
        h("svg:text", { class: "mark", x: ax + 9, y: ay - 8 }, `#${k + 1}`),
      );
    });
    const ticks = (k) => Array.from({ length: 5 }, (_, i) => low[k] + ((high[k] - low[k]) * i) / 4);
    const indices = [...new Set(plane.regions.map((one) => one.class_index))].sort((a, b) => a - b);
    fill(
      this.drawing,
      legend(this.scene.classes, indices),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Plane" },
        h(
          "svg:svg",
          {
            viewBox: `0 0 ${LEFT + WIDTH + 30} ${TOP + HEIGHT + BELOW}`,
            class: "plane",
            role: "img",
            "aria-label": `Predictions over ${this.x.value} and ${this.y.value}, the row and ${plane.answers.length} answers`,
          },
          regions,
          h("svg:rect", { class: "frame", x: LEFT, y: TOP, width: WIDTH, height: HEIGHT }),
          ticks(0).map((v) =>
            h("svg:text", { x: toX(v), y: HEIGHT + 28, "text-anchor": "middle" }, shortNumber(Number(v.toPrecision(4)))),
          ),
          ticks(1).map((v) =>
            h("svg:text", { x: LEFT - 8, y: toY(v) + 4, "text-anchor": "end" }, shortNumber(Number(v.toPrecision(4)))),
          ),
          h(
            "svg:text",
            { class: "axis", x: LEFT + WIDTH / 2, y: HEIGHT + 50, "text-anchor": "middle" },
            displayName(this.x.value),
          ),
          h(
            "svg:text",
            { class: "axis", transform: `translate(14 ${TOP + HEIGHT / 2}) rotate(-90)`, "text-anchor": "middle" },
            displayName(this.y.value),
          ),
          arrows,
          h("svg:rect", { class: "source-point", x: sx - 6, y: sy - 6, width: 12, height: 12 }),
        ),
      ),
      h(
        "p",
        { class: "quiet" },
        "Square: the row. Circles: the answers. All other features have the values of the row. A hollow circle also changes other features, so the region around it may have another class than the answer.",
      ),
    );
  }

  /** Show a message in place of the drawing. */
  showMessage(text) {
    fill(this.drawing, h("p", {}, text));
  }
}
