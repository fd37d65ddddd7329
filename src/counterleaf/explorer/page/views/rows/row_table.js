// The rows as a table. Only the visible lines exist, so that 100,000 rows scroll smoothly.

import { fill, h } from "../../lib/dom.js";

const HEIGHT = 34; // pixels of a line
const MORE = 8; // lines above and below the visible ones

export class RowTable {
  /** `choose(row)` explains a row, `sort(key)` sorts by a column. */
  constructor(choose, sort) {
    Object.assign(this, { choose, sort, rows: [], columns: [], focused: 0 });
    this.head = h("tr", {});
    this.body = h("tbody", {});
    this.table = h("table", {}, h("thead", {}, this.head), this.body);
    this.node = h("div", { class: "rows-table", role: "region", "aria-label": "Table of all rows", tabindex: "0" }, this.table);
    this.node.addEventListener("scroll", () => this.draw());
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.draw(true)).observe(this.node);
  }

  /** `columns` are {key, label, text(row), narrow}; `order` is {key, down}; `current` is the row that is explained. */
  update({ rows, columns, order, current }) {
    const head = JSON.stringify([columns.map(({ key, label }) => [key, label]), order]);
    Object.assign(this, { rows, columns, current });
    if (head !== this.headKey) {
      this.headKey = head;
      fill(
        this.head,
        columns.map(({ key, label, narrow }) => {
          const sorted = order.key === key ? (order.down ? "descending" : "ascending") : "none";
          const arrow = sorted === "none" ? "" : order.down ? " ↓" : " ↑";
          const press = h("button", { type: "button", class: "rows-sort", title: `Sort by ${label}`, onclick: () => this.sort(key) });
          fill(press, h("span", {}, label), h("span", { "aria-hidden": "true" }, arrow));
          return h("th", { scope: "col", "aria-sort": sorted, class: narrow ? "" : "wide" }, press);
        }),
      );
    }
    this.table.setAttribute("aria-rowcount", String(rows.length + 1));
    this.focused = Math.min(this.focused, Math.max(rows.length - 1, 0));
    this.draw(true);
  }

  /** Draw the lines that are visible. */
  draw(always = false) {
    const tall = this.node.clientHeight;
    if (!tall) return;
    const first = Math.max(0, Math.floor(this.node.scrollTop / HEIGHT) - MORE);
    const end = Math.min(this.rows.length, first + Math.ceil(tall / HEIGHT) + 2 * MORE);
    if (!always && first === this.first && end === this.end) return;
    Object.assign(this, { first, end });
    const hadFocus = this.body.contains(document.activeElement);
    const space = (n) => {
      const node = h("tr", { class: "rows-space", "aria-hidden": "true" }, h("td", {}));
      node.style.height = `${n * HEIGHT}px`;
      return n > 0 && node;
    };
    const lines = [];
    for (let k = first; k < end; k += 1) lines.push(this.line(k));
    this.body.replaceChildren(...[space(first), ...lines, space(this.rows.length - end)].filter(Boolean));
    if (hadFocus) this.buttonAt(this.focused)?.focus({ preventScroll: true });
  }

  line(k) {
    const row = this.rows[k];
    const isCurrent = row === this.current;
    const cells = this.columns.map(({ text, narrow }, j) => {
      if (j) return h("td", { class: narrow ? "" : "wide", title: text(row) }, text(row));
      const press = h(
        "button",
        { type: "button", class: "rows-pick", "data-line": k, tabindex: k === this.focused ? 0 : -1, "aria-label": `Explain row ${row}` },
        text(row),
      );
      return h("th", { scope: "row" }, press);
    });
    const choose = () => {
      this.focused = k;
      this.choose(row);
    };
    return h("tr", { "aria-rowindex": k + 2, "aria-current": isCurrent ? "true" : null, onclick: choose }, cells);
  }

  buttonAt(k) {
    return this.body.querySelector(`button[data-line="${k}"]`);
  }

  onKey(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / HEIGHT) - 2);
    const last = this.rows.length - 1;
    const to = {
      ArrowDown: this.focused + 1,
      ArrowUp: this.focused - 1,
      PageDown: this.focused + page,
      PageUp: this.focused - page,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.focus(Math.min(Math.max(to, 0), last));
  }

  /** Move the focus to a line. */
  focus(k) {
    this.focused = k;
    this.reveal(k);
    this.draw(true);
    this.buttonAt(k)?.focus({ preventScroll: true });
  }

  /** Scroll the table, not the page, until a line is visible. */
  reveal(k) {
    const [head, tall] = [this.head.offsetHeight, this.node.clientHeight];
    if (k * HEIGHT < this.node.scrollTop) this.node.scrollTop = k * HEIGHT;
    else if ((k + 1) * HEIGHT + head > this.node.scrollTop + tall) this.node.scrollTop = (k + 1) * HEIGHT + head - tall;
  }
}
