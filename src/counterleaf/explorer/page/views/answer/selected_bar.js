// A slim bar that repeats the selected option while the cards are out of view.

import { button, fill, h, setText } from "../../lib/dom.js";

export class SelectedBar {
  constructor(node, answer, tools) {
    this.node = node;
    this.text = h("span", { class: "bar-text" });
    this.rank = h("strong", {});
    this.previous = button("‹", () => tools.select(this.k - 1), { "aria-label": "previous option" });
    this.next = button("›", () => tools.select(this.k + 1), { "aria-label": "next option" });
    this.top = button("↑ Answer", () => scrollTo({ top: 0 }), { "aria-label": "back to the answer" });
    fill(node, this.previous, this.rank, this.next, this.text, this.top);
    new IntersectionObserver(([entry]) => {
      this.away = !entry.isIntersecting && entry.boundingClientRect.bottom < 60;
      this.show();
    }).observe(answer);
  }

  update(way, k, count) {
    this.k = k;
    const changes = way.changes.map(({ label, from, to }) => `${label} ${from} → ${to}`).join(" · ");
    setText(this.rank, (count > 1 ? `Option ${k + 1} of ${count}` : "Answer") + (way.proved ? "" : ", not proved"));
    setText(this.top, "↑ Answer");
    this.previous.disabled = k === 0;
    this.next.disabled = k + 1 >= count;
    this.write(changes.length && changes.length < 2000 ? changes : way.label, count > 1);
  }

  /** Say why there is no option. */
  say(text) {
    setText(this.rank, "");
    setText(this.top, "↑ See why");
    this.write(text, false);
  }

  write(text, several) {
    setText(this.text, text);
    this.text.title = text;
    this.previous.hidden = this.next.hidden = !several;
    this.show();
  }

  show() {
    this.node.hidden = !this.text.textContent || !this.away;
  }
}
