// All rows of the table, on two axes and as a list; a click explains a row.

import { button, fill, h } from "../../lib/dom.js";
import { formatValue, isMissing, isTrack, MISSING, nameOf, varies } from "../features/values.js";
import { effortText, quantities, saysText } from "./axis.js";
import { Filter } from "./filter.js";
import { RowTable } from "./row_table.js";
import { MOST_ROWS, RowsData } from "./rows_data.js";
import { Scatter } from "./scatter.js";

const ABOUT =
  "Effort adds up the changes of the best answer, each as a share of the usual range of its feature. " +
  "Another choice of a category counts 100 %.";

export class AllRows {
  constructor(scene, change, tools) {
    Object.assign(this, { scene, change, tools, quantities: quantities(scene), order: { key: "row", down: false } });
    this.data = new RowsData(scene, () => this.refresh());
    this.filter = new Filter(scene, () => this.refresh());
    this.scatter = new Scatter(
      scene,
      (row) => this.choose(row),
      (row) => this.describe(row),
    );
    this.table = new RowTable(
      (row) => this.choose(row),
      (key) => {
        this.order = { key, down: this.order.key === key && !this.order.down };
        this.refresh();
      },
    );
    this.progress = h("p", { class: "rows-progress quiet", role: "status" });
    const pick = (id, label) => {
      const node = h(
        "select",
        { id, onchange: () => ((this.chosen = true), this.refresh()) },
        this.quantities.map(({ key, label: text }) => h("option", { value: key }, text)),
      );
      return [node, h("div", { class: "field" }, h("label", { for: id }, label), node)];
    };
    const [[x, xField], [y, yField]] = [pick("rows-x", "Horizontal axis"), pick("rows-y", "Vertical axis")];
    Object.assign(this, { x, y });
    [this.previous, this.next] = [
      button("‹ Previous row", () => this.step(-1), { title: "Explain the previous row of the table" }),
      button("Next row ›", () => this.step(1), { title: "Explain the next row of the table" }),
    ];
    this.node = h(
      "div",
      { class: "rows-view" },
      this.filter.node,
      h(
        "div",
        { class: "rows-body" },
        h("div", { class: "rows-side" }, h("div", { class: "rows-axes" }, xField, yField), this.scatter.node),
        h("div", { class: "rows-side" }, h("div", { class: "rows-axes" }, this.previous, this.next, this.progress), this.table.node),
      ),
      h("p", { class: "quiet rows-about" }, ABOUT),
    );
  }

  update(state, row, answer) {
    this.ready = true;
    if (!this.chosen) this.chooseAxes(answer);
    for (const { of } of this.axes()) of(this.data); // requested before the efforts, which take longer
    this.data.update(state, answer);
    this.refresh();
  }

  /** Stop loading, because the question may have changed. */
  pause() {
    this.data.pause();
  }

  dispose() {
    this.scatter.dispose();
  }

  /** At first, the axes are numbers that the answer changes and that differ between the rows; pixels say little. */
  chooseAxes(answer) {
    const numbers = this.scene.features.filter(isTrack).map((feature) => feature.name);
    const changed = (answer?.ways ?? []).flatMap((way) => way.changes.map(({ feature }) => feature));
    const names = [...new Set([...changed.filter((name) => numbers.includes(name)), ...numbers])];
    const varied = names.filter((name) => varies(this.scene.features.find((feature) => feature.name === name)));
    const features = this.scene.shape ? [] : [...new Set([...varied, ...names])];
    const keys = [...features.map((name) => `f:${name}`), "says", "effort", "row"];
    [this.x.value, this.y.value] = keys;
    this.chosen = Boolean(answer);
  }

  /** The quantities of the two axes. */
  axes() {
    return [this.x.value, this.y.value].map((key) => this.quantities.find((one) => one.key === key));
  }

  choose(row) {
    const { state } = this.tools; // that of the page, whose answer may be on its way
    if (row !== state.row) this.change({ ...state, row, edits: {} });
  }

  /** Explain the next row of the table, which is filtered and sorted. */
  step(direction) {
    const at = this.sorted.indexOf(this.tools.state.row);
    const to = at < 0 ? (direction > 0 ? 0 : this.sorted.length - 1) : at + direction;
    if (this.sorted[to] === undefined) return;
    this.table.focused = to;
    this.table.reveal(to);
    this.choose(this.sorted[to]);
  }

  describe(row) {
    const { data } = this;
    const count = data.changes[row];
    const changes = count ? `, ${count} ${count === 1 ? "change" : "changes"}` : "";
    const values = this.axes().filter(({ feature }) => feature).map(({ feature }) => `${nameOf(feature)}: ${this.cell(feature, row)}`);
    return [
      `Row ${row}: ${saysText(this.scene, data.says[row])}`,
      `Effort: ${effortText(data, row)}${changes}`,
      ...new Set(values),
    ];
  }

  cell(feature, row) {
    const values = this.data.column(feature.name);
    return values ? formatValue(feature, values[row]) : "…";
  }

  /** Draw everything again before the next frame. */
  refresh() {
    if (this.waiting || !this.ready) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
  }

  draw() {
    const { data } = this;
    const { row } = this.tools.state;
    const [x, y] = this.axes();
    const matches = this.filter.matches(data);
    this.filter.showCount(matches.length, data.n, data.next === null && ![...data.columns.values()].includes(null));
    this.scatter.update({ data, x, y, matches, row });
    const columns = this.columns(x, y);
    this.sorted = this.sort(matches, columns);
    this.table.update({ rows: this.sorted, columns, order: this.order, current: row });
    const at = this.sorted.indexOf(row);
    this.previous.disabled = !this.sorted.length || at === 0;
    this.next.disabled = !this.sorted.length || at === this.sorted.length - 1;
    fill(this.progress, this.progressText());
  }

  progressText() {
    const { data, scene } = this;
    if (data.error) return data.error;
    if (data.next !== null) return `Efforts of ${data.done.toLocaleString("en")} of ${data.n.toLocaleString("en")} rows …`;
    return scene.n_rows > MOST_ROWS ? `The first ${MOST_ROWS.toLocaleString("en")} of ${scene.n_rows.toLocaleString("en")} rows.` : "";
  }

  /** The columns of the table: the row, what the model says, its effort, and the features of the axes and of the filter. */
  columns(x, y) {
    const { data, scene } = this;
    const chosen = this.quantities.find(({ feature }) => feature && feature === this.filter.chosen);
    const features = [...new Set([chosen, x, y].filter((one) => one?.feature))];
    return [
      { key: "row", label: "Row", narrow: true, text: String, of: (row) => row },
      { key: "says", label: "Model says", narrow: true, text: (row) => saysText(scene, data.says[row]), of: (row) => data.says[row] },
      { key: "effort", label: "Effort", narrow: true, text: (row) => effortText(data, row), of: (row) => data.effort[row] },
      { key: "changes", label: "Changes", text: (row) => (data.status[row] === undefined ? "…" : String(data.changes[row] ?? "none known")), of: (row) => data.changes[row] },
      ...features.map(({ key, label, of, format, feature }) => ({
        key,
        label,
        text: (row) => (of(data) ? (isMissing(feature, of(data)[row]) ? MISSING : format(of(data)[row])) : "…"),
        of: (row) => of(data)?.[row],
      })),
    ];
  }

  /** The rows in the order of a column; rows without a value are last. */
  sort(rows, columns) {
    const { of } = columns.find(({ key }) => key === this.order.key) ?? columns[0];
    const sign = this.order.down ? -1 : 1;
    const isGap = (value) => value === null || value === undefined;
    return [...rows].sort((a, b) => {
      const [one, other] = [of(a), of(b)];
      if (isGap(one) || isGap(other)) return isGap(one) - isGap(other) || a - b;
      return sign * (one - other) || a - b;
    });
  }
}
