// Who it is about, what the model says, and what it should say.

import { fillOf } from "../lib/class_colours.js";
import { button, fill, h, onNumber, plainNumber, setText, setValue } from "../lib/dom.js";

const MAX_BUTTONS = 12; // classes with buttons; more of them have a menu
const MAX_LETTERS = 44; // of all their names together

/** The line at the top of the page. It is built once per data set, so that an answer does not interrupt typing. */
export class QuestionBar {
  /** `findRow(direction, label)` moves to another row, `adjust` is the panel of the settings. */
  constructor(node, scene, change, { findRow, adjust }) {
    Object.assign(this, { scene, change });
    this.goal = scene.kind === "value" ? new ValueGoal(scene, this) : new ClassGoal(scene, this);
    this.says = h("strong", { class: "says" });
    this.swatch = h("svg:rect", { width: 14, height: 14, rx: 3 });
    this.number = h("span", { class: "quiet number", title: "The probability that the model gives to this class" }, h("span", {}), h("span", { class: "unit" }, " sure"));
    const longest = Math.max(...scene.classes.map((name) => name.length), 6);
    const room = Math.min(20, 0.8 * longest) + (scene.probabilities ? 7 : 2); // so that the rest of the line does not move
    const line = h(
      "span",
      { class: "value" },
      scene.kind === "class" && h("svg:svg", { class: "swatch", viewBox: "0 0 14 14", "aria-hidden": "true" }, this.swatch),
      this.says,
      scene.kind === "class" && this.number,
    );
    line.style.setProperty("--room", `${room}em`);
    this.opener = button("Adjust", () => adjust.toggle(this.opener), {
      id: "adjust-button",
      class: "adjust-button",
      "aria-expanded": String(!adjust.node.hidden),
      "aria-controls": "adjust",
    });
    fill(
      node,
      h("h2", { class: "about" }, scene.about),
      this.who(findRow),
      h(
        "div",
        { class: "fact prediction" },
        h("span", { class: "caption" }, "The model says"),
        line,
      ),
      h("span", { class: "arrow", "aria-hidden": "true" }, "→"),
      this.goal.node,
      this.opener,
    );
  }

  who(findRow) {
    const { scene } = this;
    const go = (row) => this.change({ ...this.state, row, edits: {} });
    this.rowField = h("input", { type: "number", id: "row", min: 0, max: scene.n_rows - 1, step: 1, "aria-label": `${scene.noun}, 0 to ${scene.n_rows - 1}` });
    onNumber(this.rowField, go, () => this.state.row);
    this.previous = button("‹", () => go(this.state.row - 1), { "aria-label": "previous row", title: "previous row" });
    this.next = button("›", () => go(this.state.row + 1), { "aria-label": "next row", title: "next row" });
    this.reset = button("", () => this.change({ ...this.state, edits: {} }), { class: "link", "aria-label": "reset edits" });
    const labels = scene.classes.length <= 3 && scene.kind === "class" ? scene.classes : [];
    return h(
      "div",
      { class: "fact" },
      h("span", { class: "caption" }, scene.noun, scene.has_table && h("span", {}, ` (0 to ${(scene.n_rows - 1).toLocaleString("en")})`), this.reset),
      scene.has_table
        ? h(
            "span",
            { class: "value picker" },
            this.previous,
            this.rowField,
            this.next,
            labels.map((label) =>
              button(`next ${label}`, () => findRow(1, label), { class: "link", title: `the next row for which the model says ${label}` }),
            ),
          )
        : h("span", { class: "value" }, "the one you describe"),
    );
  }

  /** `says` has the prediction for the row with its edits, `goal` that of the last answer. */
  update(state, says, row, goal) {
    this.state = state;
    setValue(this.rowField, state.row);
    this.previous.disabled = state.row <= 0;
    this.next.disabled = state.row >= this.scene.n_rows - 1;
    const label = row?.problem ? "cannot be read" : (says?.label ?? "…");
    if (this.says.textContent !== label && this.number.isConnected) {
      const next = this.number.cloneNode(true); // a new figure after a new word, rather than one that moves
      this.number.replaceWith(next);
      this.number = next;
    }
    setText(this.says, label);
    this.says.title = label;
    setText(this.number.firstChild, says?.number && this.scene.kind === "class" ? says.number.text : "");
    this.number.lastChild.hidden = !this.number.firstChild.textContent;
    this.swatch.setAttribute("fill", says?.label && !row?.problem ? fillOf(says.class_index) : "none");
    const n = Object.keys(state.edits).length;
    this.reset.hidden = !n;
    setText(this.reset, `${n} value${n > 1 ? "s" : ""} edited: reset`);
    this.goal.update(state, label, goal);
  }
}

/** Which class the model should predict: buttons, or a menu with a search field if there are many. */
class ClassGoal {
  constructor(scene, bar) {
    this.scene = scene;
    const set = (target) => bar.change({ ...bar.state, target, at_least: null, at_most: null });
    this.any = button("", () => set([]));
    this.choices = scene.classes.map((name) => [
      name,
      button(name, () => set(toggleClass(bar.state.target, name, scene.classes)), { title: name.length > 24 ? name : null }),
    ]);
    const several = scene.classes.length > 2;
    const buttons = [several && this.any, this.choices.map(([, node]) => node)];
    const inLine = scene.classes.length <= MAX_BUTTONS && scene.classes.join("").length <= MAX_LETTERS;
    this.summary = !inLine && h("summary", {});
    this.node = h(
      "div",
      { class: "fact goal", role: "group", "aria-label": "What the model should say" },
      h("span", { class: "caption" }, "It should say"),
      inLine ? h("span", { class: "value segmented" }, buttons) : this.menu(buttons),
    );
  }

  menu(buttons) {
    const search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search the classes" });
    search.addEventListener("input", () => {
      const text = search.value.trim().toLowerCase();
      for (const [name, node] of this.choices) node.hidden = !name.toLowerCase().includes(text);
    });
    return h("details", { class: "menu classes" }, this.summary, h("div", {}, search, h("span", { class: "list" }, buttons)));
  }

  /** `label` is what the model says. */
  update({ target, at_least }, label) {
    setText(this.any, `anything but ${label}`);
    this.any.setAttribute("aria-pressed", String(!target.length));
    const onlyOther = !target.length && this.scene.classes.length === 2; // any class but the row's is the other one
    for (const [name, node] of this.choices)
      node.setAttribute("aria-pressed", String(target.includes(name) || (onlyOther && label !== "…" && name !== label)));
    if (this.summary) setText(this.summary, target.join(" or ") || `anything but ${label}`);
    this.node.title = at_least === null ? "" : `at least ${plainNumber(100 * at_least)} % sure`;
  }
}

function toggleClass(target, name, classes) {
  if (classes.length === 2) return [name];
  return target.includes(name)
    ? target.filter((one) => one !== name)
    : classes.filter((one) => one === name || target.includes(one));
}

/** In which interval the value should be: two fields, and a slider for the one that is set. */
class ValueGoal {
  constructor(scene, bar) {
    const { lower, upper, unit } = scene.output;
    const field = (end, label) => {
      const input = h("input", { type: "number", id: end, step: "any", "aria-label": label, placeholder: "any" });
      onNumber(input, (value) => bar.change({ ...bar.state, [end]: value }), () => shown(bar.state[end]), null);
      return input;
    };
    this.fields = { at_least: field("at_least", "at least"), at_most: field("at_most", "at most") };
    this.slider = h("input", { type: "range", min: lower, max: upper, step: stepOf(lower, upper), "aria-label": "The value that the model should say" });
    const slide = (live) => () => bar.change({ ...bar.state, [this.end]: this.slider.valueAsNumber }, live);
    this.slider.addEventListener("input", slide(true));
    this.slider.addEventListener("change", slide(false));
    this.node = h(
      "div",
      { class: "fact goal", role: "group", "aria-label": "What the model should say" },
      h("span", { class: "caption" }, "It should say", unit ? ` (${unit})` : "", this.slider),
      h("span", { class: "value picker" }, "at least ", this.fields.at_least, " at most ", this.fields.at_most),
    );
  }

  /** Without limits the server chooses one, which `goal` has. */
  update(state, label, goal) {
    const chosen = state.at_least === null && state.at_most === null && goal ? goal : state;
    this.end = chosen.at_least === null && chosen.at_most !== null ? "at_most" : "at_least";
    for (const [end, field] of Object.entries(this.fields)) setValue(field, shown(chosen[end]));
    const value = chosen[this.end];
    setValue(this.slider, value ?? this.slider.min);
    this.slider.setAttribute("aria-valuetext", value === null ? "not chosen yet" : `${this.end.replace("_", " ")} ${plainNumber(value)}`);
  }
}

const shown = (value) => (value === null ? null : plainNumber(value));

/** A round step of about a hundredth of a range. */
function stepOf(lower, upper) {
  const size = (upper - lower) / 100;
  return size > 0 ? 10 ** Math.floor(Math.log10(size)) : "any";
}
