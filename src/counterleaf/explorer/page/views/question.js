// The question: which row, what the model says about it, and what it should say.

import { button, byId, fill, h, onNumber, setValue } from "../lib/dom.js";

/** The bar at the top of the page. It is built once per scene, so that an answer does not interrupt typing. */
export class QuestionBar {
  /** `change(state)` sets a new state, `findRow(direction, label)` moves to another row. */
  constructor(scene, change, findRow) {
    Object.assign(this, { scene, change });
    this.rowField = h("input", { type: "number", id: "row", min: 1, max: scene.n_rows, step: 1 });
    onNumber(
      this.rowField,
      (row) => change({ ...this.state, row: row - 1, edits: {} }),
      () => this.state.row + 1,
    );
    this.sourceLabel = h("strong", { class: "source-label" });
    this.resetButton = button("reset edits", () => change({ ...this.state, edits: {} }), { class: "quiet" });
    this.anyButton = button("", () => change({ ...this.state, target: [] }), { class: "choice" });
    this.classButtons = scene.classes.map((name) => [
      name,
      button(name, () => change({ ...this.state, target: toggleClass(this.state.target, name, scene.classes) }), {
        class: "choice",
      }),
    ]);
    fill(
      byId("question"),
      h("h2", {}, scene.about),
      scene.has_table && this.rowPicker(findRow),
      h("div", { class: "group" }, h("span", {}, "The model says "), this.sourceLabel, this.resetButton),
      h(
        "div",
        { class: "group", role: "group", "aria-label": "What the model should say" },
        h("span", {}, "It should say "),
        scene.classes.length > 2 && this.anyButton,
        this.classButtons.map(([, node]) => node),
      ),
    );
  }

  rowPicker(findRow) {
    const labels = this.scene.classes.length <= 3 ? this.scene.classes : [];
    return h(
      "div",
      { class: "group" },
      h("label", { for: "row" }, "Row"),
      button("‹", () => findRow(-1), { "aria-label": "previous row", title: "previous row" }),
      this.rowField,
      h("span", { class: "quiet" }, `of ${this.scene.n_rows.toLocaleString("en")}`),
      button("›", () => findRow(1), { "aria-label": "next row", title: "next row" }),
      labels.map((label) =>
        button(`next “${label}”`, () => findRow(1, label), { title: `the next row for which the model says ${label}` }),
      ),
    );
  }

  /** `label` is the prediction for the row with its edits. */
  update(state, label) {
    this.state = state;
    setValue(this.rowField, state.row + 1);
    this.sourceLabel.textContent = label;
    this.resetButton.hidden = !Object.keys(state.edits).length;
    this.anyButton.textContent = `anything but ${label}`;
    this.anyButton.setAttribute("aria-pressed", String(!state.target.length));
    const onlyOther = !state.target.length && this.scene.classes.length === 2; // any class but the row's is the other one
    for (const [name, node] of this.classButtons)
      node.setAttribute("aria-pressed", String(state.target.includes(name) || (onlyOther && name !== label)));
  }
}

function toggleClass(target, name, classes) {
  if (classes.length === 2) return [name];
  return target.includes(name)
    ? target.filter((one) => one !== name)
    : classes.filter((one) => one === name || target.includes(one));
}
