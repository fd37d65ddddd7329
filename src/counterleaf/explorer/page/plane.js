// The plane of two numbers: what the model says where, the row and where the answers lie.

import { brief, fill, h, own, spoken } from "./dom.js";
import { fillOf, legend } from "./classes.js";

const [WIDE, TALL, LEFT, BELOW] = [640, 460, 74, 46];

export class Plane {
  constructor(node, ask) {
    Object.assign(this, { node, ask });
    this.drawing = h("div", {});
  }

  /** Fields to choose the two numbers; until they are chosen, those that the cheapest answer changes. */
  build(scene, answer) {
    if (this.scene === scene && this.chosen) return;
    const numbers = scene.features.filter((feature) => feature.kind === "number").map((feature) => feature.name);
    this.chosen = false;
    this.scene = scene;
    if (numbers.length < 2) return fill(this.node, h("p", {}, "A plane needs two numbers; this table has fewer."));
    const moved = numbers.filter((name) => own(answer?.cells, name));
    const best = moved.filter((name) => own(answer.cells, name).to[0] !== "="); // what the cheapest answer changes
    const pair = [...new Set([...best, ...moved, ...numbers])].slice(0, 2);
    const pick = (k, words) => {
      const select = h(
        "select",
        { id: `plane-${k}`, onchange: () => ((this.chosen = true), this.ask()) },
        numbers.map((name) => h("option", { value: name }, spoken(name))),
      );
      select.value = pair[k];
      return [select, h("div", { class: "field" }, h("label", { for: select.id }, words), select)];
    };
    const [[across, first], [up, second]] = [pick(0, "Across"), pick(1, "Up")];
    Object.assign(this, { across, up });
    fill(this.node, h("div", { class: "above" }, first, second), this.drawing);
  }

  get pair() {
    return this.across && [this.across.value, this.up.value];
  }

  draw(found) {
    const [low, high] = [found.low, found.high];
    const x = (v) => LEFT + ((v - low[0]) / (high[0] - low[0])) * WIDE;
    const y = (v) => 10 + TALL - ((v - low[1]) / (high[1] - low[1])) * TALL;
    const spot = ([a, b]) => [x(a), y(b)];
    const regions = found.regions.map((one) =>
      h("svg:polygon", {
        points: one.corners.map((corner) => spot(corner).join(",")).join(" "),
        fill: fillOf(one.value),
        class: "region",
      }),
    );
    const [sx, sy] = spot(found.source);
    const arrows = found.answers.map((point, k) => {
      const [ax, ay] = spot(point);
      return h(
        "svg:g",
        {},
        h("svg:line", { class: "move", x1: sx, y1: sy, x2: ax, y2: ay }),
        h("svg:circle", { class: found.elsewhere[k] ? "goal hollow" : "goal", cx: ax, cy: ay, r: 6 }),
        h("svg:text", { class: "mark", x: ax + 9, y: ay - 8 }, `#${k + 1}`),
      );
    });
    const ticks = (k) => Array.from({ length: 5 }, (_, i) => low[k] + ((high[k] - low[k]) * i) / 4);
    const values = [...new Set(found.regions.map((one) => one.value))].sort((a, b) => a - b);
    fill(
      this.drawing,
      legend(this.scene.classes, values),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Plane" },
        h(
          "svg:svg",
          {
            viewBox: `0 0 ${LEFT + WIDE + 30} ${10 + TALL + BELOW}`,
            class: "plane",
            role: "img",
            "aria-label": `What the model says over ${this.across.value} and ${this.up.value}, the row and ${found.answers.length} answers`,
          },
          regions,
          h("svg:rect", { class: "frame", x: LEFT, y: 10, width: WIDE, height: TALL }),
          ticks(0).map((v) =>
            h("svg:text", { x: x(v), y: TALL + 28, "text-anchor": "middle" }, brief(Number(v.toPrecision(4)))),
          ),
          ticks(1).map((v) =>
            h("svg:text", { x: LEFT - 8, y: y(v) + 4, "text-anchor": "end" }, brief(Number(v.toPrecision(4)))),
          ),
          h(
            "svg:text",
            { class: "axis", x: LEFT + WIDE / 2, y: TALL + 50, "text-anchor": "middle" },
            spoken(this.across.value),
          ),
          h(
            "svg:text",
            { class: "axis", transform: `translate(14 ${10 + TALL / 2}) rotate(-90)`, "text-anchor": "middle" },
            spoken(this.up.value),
          ),
          arrows,
          h("svg:rect", { class: "home", x: sx - 6, y: sy - 6, width: 12, height: 12 }),
        ),
      ),
      h(
        "p",
        { class: "quiet" },
        "Square: the row; circles: the answers. All other features are as in the row; a hollow circle changes others as well, so its colour here may differ from what the model says.",
      ),
    );
  }

  tell(text) {
    fill(this.drawing, h("p", {}, text));
  }
}
