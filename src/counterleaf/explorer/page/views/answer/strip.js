// The strip below the cards: the least effort with one change, two changes, and so on; a click limits the changes.

import { post } from "../../lib/api.js";
import { button, fill, h } from "../../lib/dom.js";
import { same } from "../../lib/state.js";

const MAX_POINTS = 5;

export class Strip {
  constructor(node, change) {
    Object.assign(this, { node, change, points: [] });
  }

  build(scene) {
    this.scene = scene;
    this.node.hidden = Boolean(scene.shape); // the number of pixels is not informative
    this.key = null;
    this.points = [];
    this.draw();
  }

  /** What the points depend on: the question without its limit on changes. */
  keyOf = ({ max_changes, count, ...question }) => question;

  update(state) {
    this.state = state;
    this.node.classList.toggle("stale", Boolean(this.key) && !same(this.key, this.keyOf(state))); // which hides the efforts
    this.node.classList.toggle("idle", !this.isUseful);
    for (const node of this.node.querySelectorAll("button"))
      node.setAttribute("aria-pressed", String(node.dataset.n === String(state.max_changes ?? "any")));
  }

  /** Request the points, unless they are those of this question. */
  async request(state, signal) {
    if (this.node.hidden || same(this.key, this.keyOf(state))) return;
    try {
      const { max_changes, ...question } = state;
      const { points } = await post("/api/front", { ...question, max_changes: null }, signal);
      [this.key, this.points] = [this.keyOf(state), points];
    } catch (error) {
      if (error.name === "AbortError") return;
      [this.key, this.points] = [null, []]; // the strip is an addition: the answer is complete without it
    }
    this.draw();
    this.update(this.state ?? state);
  }

  clear() {
    [this.key, this.points] = [null, []];
    this.draw();
  }

  draw() {
    const set = (max_changes) => () => this.change({ ...this.state, max_changes });
    const [shown, best] = [this.points.slice(0, MAX_POINTS), this.points.at(-1)];
    fill(
      this.node,
      h("span", { class: "caption", id: "strip-caption" }, "How many things may change?"),
      h(
        "span",
        { class: "segmented", role: "group", "aria-labelledby": "strip-caption" },
        shown.map((point) =>
          button([count(point.n_changes, point.n_changes === 1 ? "change" : "changes"), effortOf(point)], set(point.n_changes), {
            "data-n": point.n_changes,
          }),
        ),
        button([count("any", "number"), h("small", {}, best ? (best.proved ? "best overall" : "best found, not proved") : "\u00a0")], set(null), { "data-n": "any" }),
      ),
    );
    if (this.state) this.update(this.state);
  }

  /** Whether there is something to choose: several numbers of changes, or a limit to remove. */
  get isUseful() {
    const first = this.points[0];
    return Boolean(this.state?.max_changes !== null || (first && first.n_changes > 0));
  }
}

/** The effort of a point; one whose search stopped may have none. */
function effortOf({ effort, changes, proved }) {
  if (!effort) return h("small", { title: "The search stopped before it found a change or ruled it out" }, "not proved: stopped");
  const listed = changes.map(({ label, from, to }) => `${label} ${from} → ${to}`).join(", ");
  return h("small", { title: `${listed} (${effort.words})` }, (effort.size ?? effort.short) + (proved ? "" : ", not proved"));
}

/** A number with its unit, which narrow pages do not show. */
const count = (number, unit) => h("span", {}, String(number), h("span", { class: "unit" }, ` ${unit}`));
