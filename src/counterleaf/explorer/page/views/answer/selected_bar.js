// A slim bar that repeats the selected option while the cards are out of view.

import { button, fill, h, setText } from "../../lib/dom.js";

export class SelectedBar {
  constructor(node, cards, tools) {
    this.node = node;
    this.text = h("span", { class: "bar-text" });
    this.rank = h("strong", {});
    this.previous = button("‹", () => tools.select(this.k - 1), { "aria-label": "previous option" });
    this.next = button("›", () => tools.select(this.k + 1), { "aria-label": "next option" });
    const top = button("↑ Answer", () => scrollTo({ top: 0 }), { "aria-label": "back to the answer" });
    fill(node, this.previous, this.rank, this.next, this.text, top);
    new IntersectionObserver(([entry]) => {
      this.away = !entry.isIntersecting && entry.boundingClientRect.bottom < 60;
      this.show();
    }).observe(cards);
  }

  /** `way` is null if there is no answer. */
  update(way, k = 0, count = 0) {
    Object.assign(this, { way, k });
    if (way) {
      const changes = way.changes.map(({ label, from, to }) => `${label} ${from} → ${to}`).join(" · ");
      setText(this.rank, count > 1 ? `Option ${k + 1} of ${count}` : "Answer");
      setText(this.text, changes.length && changes.length < 2000 ? changes : way.label);
      this.text.title = this.text.textContent;
      this.previous.disabled = k === 0;
      this.next.disabled = k + 1 >= count;
    }
    this.show();
  }

  show() {
    this.node.hidden = !this.way || !this.away;
  }
}
