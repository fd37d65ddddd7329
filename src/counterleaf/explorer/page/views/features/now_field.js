// The value of a feature in the row, which the user can edit: a number, a date or a category.

import { button, h } from "../../lib/dom.js";
import { MISSING, formatValue, isMissing, isTrack, nameOf, parseValue, rawText, snapOf } from "./values.js";

/**
 * A field for a number or a date. It shows separators and the unit, and the plain number while it has the focus.
 * `accept(value, live)` gets each valid value, and null if the field is cleared and `mayBeEmpty` is true.
 */
export class ValueField {
  constructor(feature, { accept, mayBeEmpty, placeholder = "", ...attributes }) {
    this.feature = feature;
    this.accept = accept;
    this.mayBeEmpty = mayBeEmpty;
    this.value = null;
    this.typing = false;
    const date = feature.kind === "date";
    this.node = h("input", {
      type: date ? "date" : "text",
      inputmode: date ? null : "decimal",
      autocomplete: "off",
      spellcheck: "false",
      placeholder,
      class: "value",
      onfocus: () => this.enter(),
      oninput: () => this.type(),
      onchange: () => this.commit(),
      onblur: () => this.leave(),
      onkeydown: (event) => this.press(event),
      ...attributes,
    });
  }

  /** Show the plain number, all of it selected as after a move with the Tab key. */
  enter() {
    this.show();
    if (this.feature.kind !== "date") this.node.select();
  }

  type() {
    this.typing = true;
    this.node.setCustomValidity("");
  }

  press(event) {
    if (event.key === "Enter" && this.typing) this.commit();
    if (event.key === "Escape" && this.typing) {
      this.typing = false;
      this.show();
    }
    const direction = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!direction || this.feature.kind === "date" || this.value === null) return;
    event.preventDefault();
    const { lower, upper } = this.feature;
    const span = (upper ?? this.value + 100) - (lower ?? this.value - 100);
    this.node.value = rawText(this.feature, this.value + direction * snapOf(this.feature, null, span || 1));
    this.value = parseValue(this.feature, this.node.value);
    this.typing = true;
    this.accept(this.value, true);
  }

  /** Take what the user typed, or say why it cannot be. */
  commit() {
    if (!this.typing) return;
    this.typing = false;
    const { node, feature, mayBeEmpty } = this;
    const empty = node.value.trim() === "" && !node.validity.badInput;
    const value = empty ? null : parseValue(feature, node.value);
    if (empty ? mayBeEmpty : !Number.isNaN(value)) {
      this.value = value;
      this.accept(value, false);
      this.show();
      return;
    }
    node.setCustomValidity(empty ? "This value cannot be missing." : "Type a number, for example 12.5.");
    node.reportValidity();
    setTimeout(() => {
      if (this.typing) return;
      node.setCustomValidity("");
      this.show();
    }, 1500);
  }

  leave() {
    this.commit();
    if (!this.node.validity.customError) this.show();
  }

  show() {
    if (this.typing) return;
    const { node, feature, value } = this;
    const raw = feature.kind === "date" || document.activeElement === node;
    const text = value === null ? "" : raw ? rawText(feature, value) : formatValue(feature, value);
    if (node.value !== text) node.value = text;
  }

  update(value) {
    if (this.typing) return;
    this.value = value ?? null;
    this.show();
  }
}

/** The value in the row with a hint if it is missing, and a button that undoes an edit. */
export class NowField {
  constructor(feature, edit, reset) {
    this.feature = feature;
    const label = `${nameOf(feature)} now`;
    this.field = isTrack(feature)
      ? new ValueField(feature, { accept: edit, mayBeEmpty: feature.missing, placeholder: MISSING, "aria-label": label })
      : null;
    this.select = this.field ? null : choiceField(feature, edit, label);
    this.reset = button("↺", reset, { class: "reset", "aria-label": `reset ${nameOf(feature)}` });
    this.reset.hidden = true;
    this.hint = h("span", { class: "hint" });
    this.node = h("div", { class: "now-field" }, this.field?.node ?? this.select, this.reset, this.hint);
  }

  update(value, original, imputed) {
    const missing = isMissing(this.feature, value);
    if (this.field) this.field.update(value);
    else {
      const text = String(missing ? this.feature.values.length : value);
      if (this.select.value !== text) this.select.value = text;
      this.select.title = formatValue(this.feature, value);
    }
    const edited = value !== original;
    if (this.reset.hidden !== !edited) this.reset.hidden = !edited;
    if (edited) this.reset.title = `Reset to ${formatValue(this.feature, original)}`;
    this.node.classList.toggle("edited", edited);
    const hint = missing && imputed ? `counts as ${imputed}` : "";
    if (this.hint.textContent !== hint) this.hint.textContent = hint;
  }
}

function choiceField(feature, edit, label) {
  const options = feature.values.map((text, k) => h("option", { value: k }, text));
  if (feature.missing) options.push(h("option", { value: feature.values.length }, MISSING));
  return h(
    "select",
    { class: "value", "aria-label": label, onchange: (event) => edit(Number(event.target.value), false) },
    options,
  );
}
