// One option as a card: what changes, how much of an effort it is, and how sure we are.

import { drawDifference, drawImage } from "../../lib/pixels.js";
import { button, fill, h, setText } from "../../lib/dom.js";

const MAX_LINES = 4; // changes that a card shows
const MAX_SHORT = 22; // letters of two values that fit into one line
const IMAGE_SIDE = 84; // screen pixels

export class Card {
  /** `tools.select(k)` selects the option, `tools.keep(k)` keeps it, `openDetails()` shows more about it. */
  constructor(k, tools, openDetails) {
    this.pick = button("", () => tools.select(k), { class: "pick", "aria-pressed": "false" });
    this.pick.addEventListener("keydown", (event) => this.move(event));
    this.summary = h("span", { class: "summary" });
    this.pick.append(h("span", { class: "rank" }, `Option ${k + 1}`), this.summary);
    this.keep = button("☆ Keep", () => tools.keep(k), { class: "link", "aria-pressed": "false", "aria-label": `keep option ${k + 1}` });
    this.details = button("Details", openDetails, { class: "link", "aria-label": `details of option ${k + 1}` });
    this.changes = h("ul", { class: "changes" });
    this.effort = h("span", { class: "effort-words" });
    this.amount = h("span", {});
    this.confirmed = h("span", {});
    this.proved = h("span", {});
    new ResizeObserver(([{ contentRect }]) => {
      const { width } = contentRect;
      if (width !== this.width && this.way?.changes.length && !this.changes.querySelector(".pictures")) this.fit();
      this.width = width;
    }).observe(this.changes);
    this.node = h(
      "article",
      { class: "option" },
      h("div", { class: "option-head" }, this.pick, h("span", { class: "actions" }, this.details, this.keep)),
      h(
        "div",
        { class: "option-body" },
        this.changes,
        h("div", { class: "effort" }, h("span", { class: "effort-scale", "aria-hidden": "true", title: "full at 100 % of a usual range, or at another choice" }, this.amount), this.effort),
        h("div", { class: "checks" }, this.confirmed, this.proved),
      ),
    );
  }

  /** The arrow keys select the neighbouring option. */
  move(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const picks = [...this.node.parentNode.querySelectorAll(".pick")];
    const other = picks[picks.indexOf(this.pick) + step];
    event.preventDefault();
    other?.focus();
    other?.click();
  }

  update(scene, answer, k, selected) {
    const way = answer.ways[k];
    this.node.classList.toggle("selected", selected);
    this.pick.setAttribute("aria-pressed", String(selected));
    if (way === this.way) return;
    this.way = way;
    this.pick.setAttribute("aria-label", `Option ${k + 1}: ${describeWay(way, scene)}`);
    setText(this.summary, describeWay(way, scene));
    this.amount.style.width = `${Math.max(1.5, 100 * Math.min(1, way.effort.share))}%`;
    setText(this.effort, way.effort.words);
    this.effort.title = way.effort.words;
    const says = way.number && scene.kind === "class" ? `${way.label} (${way.number.text})` : way.label;
    if (way.confirmed) mark(this.confirmed, "good", "✓ confirmed", `: the model says ${says}`);
    else mark(this.confirmed, "bad", "✗ not confirmed by the model", "");
    mark(this.proved, way.proved ? "good" : "warn", way.proved ? "✓ proved" : "not proved", `: ${way.proof.claim}`);
    if (scene.shape && answer.image) {
      fill(this.changes, pictures(scene, answer.image, way, k));
      this.changes.className = "changes";
    } else this.fit();
  }

  /** Show the changes as large as they fit; of too many, the first ones and the number of the others. */
  fit() {
    const { changes } = this.way;
    for (const [kind, count] of layouts(changes.length)) {
      fill(this.changes, lines(changes, count));
      this.changes.className = `changes ${kind}`;
      if (this.changes.scrollHeight <= this.changes.clientHeight + 1) break;
    }
  }

  showKept(kept) {
    this.keep.setAttribute("aria-pressed", String(kept));
    setText(this.keep, kept ? "★ Kept" : "☆ Keep");
  }
}

/** A short text, and the rest of it, which narrow cards do not show. */
function mark(node, kind, text, tail) {
  if (node.title === text + tail) return;
  node.className = kind;
  node.title = text + tail;
  fill(node, text, h("span", { class: "tail" }, tail));
}

/** An option in a few words. */
function describeWay(way, scene) {
  if (scene.shape) return `${way.n_changes} pixels change: ${way.label}`;
  if (!way.changes.length) return "nothing has to change";
  return way.changes.map(({ label, from, to }) => `${label} ${from} → ${to}`).join(", ");
}

/** The sizes of the text and the numbers of changes to try, the best first. */
function layouts(n) {
  const most = Math.min(n, MAX_LINES);
  const small = Array.from({ length: Math.max(1, most) }, (_, k) => ["small", most - k]);
  return n > 2 ? [["", most], ...small] : [[n > 1 ? "two few" : "one few", n], ["", n], ...small];
}

/** The first changes, one below the other; all of them are in the details. */
function lines(changes, count) {
  if (!changes.length) return h("li", {}, h("span", { class: "to" }, "Nothing has to change."));
  const shown = changes.slice(0, count);
  const rest = changes.slice(count).map(({ label }) => label);
  return [
    shown.map((change) => h("li", { title: `${change.label}: ${change.from} → ${change.to}` }, h("span", { class: "what" }, change.label), values(change))),
    rest.length > 0 && h("li", { class: "rest", title: rest.join(", ") }, `and ${rest.length} more ${rest.length > 1 ? "changes" : "change"}`),
  ];
}

/** The value now and the new one. */
export const values = ({ from, to }) =>
  h(
    "span",
    { class: from.length + to.length > MAX_SHORT ? "values long" : "values" },
    h("span", { class: "from" }, from),
    h("span", { class: "becomes", role: "img", "aria-label": "becomes" }, "→"),
    h("span", { class: "to" }, to),
  );

/** The image of an option, and what it changes. */
const pictures = (scene, image, way, k) =>
  h(
    "li",
    { class: "pictures" },
    drawImage(image, image.answers[k], scene.shape, IMAGE_SIDE),
    drawDifference(image, k, scene.shape, IMAGE_SIDE),
    h("span", {}, h("span", { class: "to" }, way.label), h("span", { class: "what" }, `${way.n_changes} pixels change`)),
  );
