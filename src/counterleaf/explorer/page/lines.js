// The row, one line per feature: its value, what may become of it, and what each alternative makes of it.

import { brief, button, fill, h, padlock, show } from "./dom.js";
import { control, withControl } from "./state.js";

const WEIGHTS = [0.1, 0.25, 0.5, 1, 2, 4, 10];
const HARDNESS = ["much easier", "easier", "a bit easier", "as usual", "harder", "much harder", "hardest"];
const WAYS = { up: ["▲", "only up"], down: ["▼", "only down"] };

/** The table of a scene; `change(state, live)` takes a new state, `live` while a hand is still on a slider. */
export class Lines {
  constructor(scene, change) {
    this.scene = scene;
    this.change = change;
    this.columns = 0;
    this.head = h("tr", { role: "row" });
    this.lines = scene.features.map((feature) => new Line(feature, (patch, live) => this.set(feature.name, patch, live), (value) => this.edit(feature.name, value)));
    this.filter = h("input", { type: "checkbox", id: "only-changed", onchange: () => this.update(this.state, this.row, this.answer) });
    this.node = h(
      "div",
      {},
      h("div", { class: "above" }, h("label", { class: "check", for: "only-changed" }, this.filter, "only what changes or is limited")),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Features and alternatives" },
        h("table", { class: "lines", role: "table" }, h("thead", { role: "rowgroup" }, this.head), h("tbody", { role: "rowgroup" }, this.lines.map((line) => [line.node, line.editor]))),
      ),
    );
  }

  set(name, patch, live = false) {
    this.change(withControl(this.state, name, patch), live);
  }

  edit(name, value) {
    const { [name]: _, ...edits } = this.state.edits;
    const given = this.row.values[this.scene.features.findIndex((feature) => feature.name === name)];
    this.change({ ...this.state, edits: value === given ? edits : { ...edits, [name]: value } }, false);
  }

  update(state, row, answer) {
    this.state = state;
    this.row = row;
    this.answer = answer;
    const titles = (answer?.answers ?? []).map((one, k) =>
      h(
        "th",
        { role: "columnheader", scope: "col", class: "to" },
        h("span", { class: "rank" }, `#${k + 1}`),
        h("span", { class: "says" }, one.label, h("span", { class: one.verified ? "good" : "bad" }, one.verified ? " ✓" : " ✗ not confirmed")),
        h("span", { class: "cost" }, `cost ${one.cost}`),
      ),
    );
    const usual = ["Feature", "Now", "May change", ""].map((word, k) => h("th", { role: "columnheader", scope: "col", class: ["name", "now", "rules", "limits"][k] }, word || h("span", { class: "unseen" }, "Limits")));
    fill(this.head, usual, titles);
    this.lines.forEach((line, k) => line.update(control(state, line.feature.name), valueOf(state, row, line.feature, k), answer, this.filter.checked));
  }
}

/** The value that a feature has now: edited, or the row's own. */
export const valueOf = (state, row, feature, k) => (feature.name in state.edits ? state.edits[feature.name] : row.values[k]);

class Line {
  constructor(feature, set, edit) {
    this.feature = feature;
    this.open = false;
    const name = feature.name;
    this.now = feature.kind === "number" ? numberField(feature, edit) : choiceField(feature, edit);
    this.now.setAttribute("aria-label", `${name} now`);
    this.lock = button("", () => set({ lock: !this.said.lock }), { class: "lock" });
    this.ways = feature.kind === "number" || feature.kind === "ordinal" ? Object.entries(WAYS).map(([way, [sign, words]]) => [
      way,
      button(sign, () => set({ way: this.said.way === way ? "any" : way }), { class: "way", title: `${words}`, "aria-label": `${name} ${words}` }),
    ]) : [];
    this.summary = button("", () => this.toggle(), { class: "limit", "aria-expanded": "false" });
    this.title = h("th", { role: "rowheader", scope: "row", class: "name" }, name.replaceAll("_", " "));
    this.cells = [];
    this.fixed = [
      this.title,
      h("td", { role: "cell", class: "now" }, this.now),
      h("td", { role: "cell", class: "rules" }, h("div", {}, this.lock, this.ways.map(([, node]) => node))),
      h("td", { role: "cell", class: "limits" }, this.summary),
    ];
    this.node = h("tr", { role: "row" }, this.fixed); // these stay where they are, lest the focus be lost
    this.room = h("td", { role: "cell", class: "room" });
    this.editor = h("tr", { role: "row", class: "editor", hidden: true }, this.room);
    this.editing = feature.kind === "number" ? new NumberLimits(feature, set) : new ChoiceLimits(feature, set);
  }

  toggle() {
    this.open = !this.open;
    if (this.open && !this.room.hasChildNodes()) {
      this.room.append(this.editing.node);
      this.editing.update(this.said);
    }
    this.editor.hidden = !this.open || this.node.hidden;
    this.summary.setAttribute("aria-expanded", String(this.open));
  }

  update(said, value, answer, filtered) {
    this.said = said;
    const cell = answer?.cells[this.feature.name];
    const free = !said.lock && said.way === "any" && limits(this.feature, said) === "";
    this.node.hidden = filtered && !cell && free && !this.open;
    this.editor.hidden = !this.open || this.node.hidden;
    show(this.now, value === null && this.feature.kind !== "number" ? this.feature.values.length : value);
    const shown = this.feature.name.replaceAll("_", " ");
    fill(this.lock, padlock(said.lock), said.lock ? "locked" : "lock");
    this.lock.setAttribute("aria-pressed", String(said.lock));
    this.lock.setAttribute("aria-label", `lock ${shown}`);
    this.lock.title = said.lock ? "Locked: click to free it" : "Free: click to lock it";
    for (const [way, node] of this.ways) node.setAttribute("aria-pressed", String(said.way === way));
    this.summary.textContent = limits(this.feature, said) || "limits";
    this.summary.classList.toggle("set", limits(this.feature, said) !== "");
    this.summary.setAttribute("aria-label", `limits of ${shown}: ${limits(this.feature, said) || "none"}`);
    this.node.classList.toggle("locked", said.lock);
    this.node.classList.toggle("changed", Boolean(cell));
    const count = answer?.answers.length ?? 0;
    for (const old of this.cells) old.remove();
    this.cells = Array.from({ length: count }, (_, k) => changed(cell, k));
    this.node.append(...this.cells);
    this.room.setAttribute("colspan", 4 + count);
    if (this.open) this.editing.update(said);
  }
}

/** What alternative k makes of a feature: "=" if nothing, else the new value with its direction. */
function changed(cell, k) {
  const given = { role: "cell", "data-k": `#${k + 1}` };
  if (!cell || cell.to[k] === "=") return h("td", { ...given, class: "to same" }, "=");
  const move = cell.move[k];
  const [kind, sign, words] = move === null ? ["other", "→", "becomes"] : move > 0 ? ["up", "▲", "rises to"] : ["down", "▼", "falls to"];
  return h("td", { ...given, class: `to ${kind}` }, h("span", { "aria-hidden": "true" }, `${sign} `), h("span", { class: "unseen" }, `${words} `), cell.to[k]);
}

/** The limits of a feature in few letters; nothing where there are none. */
function limits(feature, said) {
  const parts = [];
  if (said.low !== null || said.high !== null) {
    parts.push(said.low === null ? `≤ ${brief(said.high)}` : said.high === null ? `≥ ${brief(said.low)}` : `${brief(said.low)} – ${brief(said.high)}`);
  }
  if (said.allowed) parts.push(`${said.allowed.length} of ${feature.values.length}`);
  if (said.step !== null) parts.push(`step ${brief(said.step)}`);
  if (said.weight !== 1) parts.push(`×${brief(said.weight)}`);
  return parts.join(" · ");
}

function numberField(feature, edit) {
  const input = h("input", { type: "number", step: feature.step ?? "any", class: "value" });
  input.addEventListener("change", () => {
    if (input.value !== "" && input.validity.valid) edit(input.valueAsNumber);
  });
  return input;
}

function choiceField(feature, edit) {
  const options = feature.values.map((word, k) => h("option", { value: k }, word));
  if (feature.missing) options.push(h("option", { value: feature.values.length }, "(missing)"));
  return h("select", { class: "value", onchange: (event) => edit(Number(event.target.value)) }, options);
}

/** How hard a feature is to change: a slider with seven stops. */
class Hardness {
  constructor(feature, set) {
    const id = `weight-${feature.name}`;
    this.slider = h("input", { type: "range", id, min: 0, max: WEIGHTS.length - 1, step: 1 });
    this.told = h("output", { for: id });
    const read = () => WEIGHTS[this.slider.valueAsNumber];
    this.slider.addEventListener("input", () => {
      this.tell(read());
      set({ weight: read() }, true);
    });
    this.slider.addEventListener("change", () => set({ weight: read() }));
    this.node = h("div", { class: "field" }, h("label", { for: id }, "How hard to change"), this.slider, this.told);
  }

  tell(weight) {
    const k = WEIGHTS.indexOf(weight);
    this.told.textContent = weight === 1 ? "as usual" : `×${brief(weight)}`;
    this.slider.setAttribute("aria-valuetext", k < 0 ? `${brief(weight)} times` : HARDNESS[k]);
  }

  update(said) {
    const nearest = WEIGHTS.reduce((best, w, k) => (Math.abs(w - said.weight) < Math.abs(WEIGHTS[best] - said.weight) ? k : best), 3);
    show(this.slider, nearest);
    this.tell(said.weight);
  }
}

/** A number's range on two sliders with their fields, its step, its weight. */
class NumberLimits {
  constructor(feature, set) {
    this.feature = feature;
    this.ends = ["low", "high"].map((end) => new End(feature, end, set, () => this.said));
    const id = `step-${feature.name}`;
    this.step = h("input", { type: "number", id, min: feature.step ?? 0, step: feature.step ?? "any", placeholder: feature.step ? brief(feature.step) : "any" });
    this.step.addEventListener("change", () => {
      if (this.step.value === "" || (this.step.valueAsNumber > 0 && this.step.validity.valid)) set({ step: this.step.value === "" ? null : this.step.valueAsNumber });
    });
    this.hardness = new Hardness(feature, set);
    this.node = h(
      "div",
      { class: "limits-editor" },
      this.ends.map((end) => end.node),
      h("div", { class: "field" }, h("label", { for: id }, "In steps of"), this.step),
      this.hardness.node,
      button("No limits", () => set({ low: null, high: null, step: null, weight: 1 }), { class: "quiet" }),
    );
  }

  update(said) {
    this.said = said;
    for (const end of this.ends) end.update(said);
    show(this.step, said.step);
    this.hardness.update(said);
  }
}

/** One end of a range: a slider within what was seen, a field for any number. */
class End {
  constructor(feature, end, set, said) {
    this.feature = feature;
    this.end = end;
    const id = `${end}-${feature.name}`;
    const [lower, upper] = [feature.lower, feature.upper];
    this.field = h("input", { type: "number", id: `${id}-field`, step: feature.step ?? "any", placeholder: brief(end === "low" ? (lower ?? 0) : (upper ?? 0)) });
    this.slider = lower === null || upper === null || lower === upper ? null : h("input", { type: "range", id, min: lower, max: upper, step: feature.step ?? (upper - lower) / 200 });
    this.slider?.setAttribute("aria-label", `${end === "low" ? "at least" : "at most"}, ${feature.name}`);
    const checked = (value) => {
      const other = said()[end === "low" ? "high" : "low"];
      const within = other === null || value === null ? value : end === "low" ? Math.min(value, other) : Math.max(value, other);
      return within === (end === "low" ? lower : upper) ? null : within;
    };
    this.slider?.addEventListener("input", () => {
      this.field.value = brief(this.slider.valueAsNumber);
      set({ [end]: checked(this.slider.valueAsNumber) }, true);
    });
    this.slider?.addEventListener("change", () => set({ [end]: checked(this.slider.valueAsNumber) }));
    this.field.addEventListener("change", () => {
      if (!this.field.validity.badInput) set({ [end]: checked(this.field.value === "" ? null : this.field.valueAsNumber) });
    });
    this.node = h("div", { class: "field" }, h("label", { for: `${id}-field` }, end === "low" ? "At least" : "At most"), this.slider, this.field);
  }

  update(said) {
    show(this.field, said[this.end] === null ? null : brief(said[this.end]));
    if (this.slider) show(this.slider, said[this.end] ?? (this.end === "low" ? this.feature.lower : this.feature.upper));
  }
}

/** The categories or levels that are allowed, and the weight. */
class ChoiceLimits {
  constructor(feature, set) {
    this.boxes = feature.values.map((word, k) => h("input", { type: "checkbox", id: `allow-${feature.name}-${k}` }));
    for (const box of this.boxes) {
      box.addEventListener("change", () => {
        const allowed = this.boxes.flatMap((one, k) => (one.checked ? [k] : []));
        if (!allowed.length) box.checked = true; // at least one must stay
        else set({ allowed: allowed.length === this.boxes.length ? null : allowed });
      });
    }
    this.hardness = new Hardness(feature, set);
    this.node = h(
      "div",
      { class: "limits-editor" },
      h(
        "fieldset",
        {},
        h("legend", {}, "May be"),
        this.boxes.map((box, k) => h("label", { class: "check", for: box.id }, box, feature.values[k])),
      ),
      this.hardness.node,
      button("No limits", () => set({ allowed: null, weight: 1 }), { class: "quiet" }),
    );
  }

  update(said) {
    this.boxes.forEach((box, k) => (box.checked = said.allowed === null || said.allowed.includes(k)));
    this.hardness.update(said);
  }
}
