// The row, one line per feature: its value, what may become of it, and what each alternative makes of it.

import { button, fill, h, onNumber, own, padlock, show, spoken } from "./dom.js";
import { ChoiceLimits, NumberLimits, limits } from "./limits.js";
import { control, withControl } from "./state.js";

const WAYS = { up: ["▲", "only up"], down: ["▼", "only down"] };

/** The table of a scene; `change(state, live)` takes a new state, `live` while a hand is still on a slider. */
export class Lines {
  constructor(scene, change) {
    this.scene = scene;
    this.change = change;
    this.head = h("tr", { role: "row" });
    this.lines = scene.features.map(
      (feature) =>
        new Line(
          feature,
          (patch, live) => this.set(feature.name, patch, live),
          (value) => this.edit(feature.name, value),
        ),
    );
    this.filter = h("input", {
      type: "checkbox",
      id: "only-changed",
      onchange: () => this.update(this.state, this.row, this.answer),
    });
    this.ranks = h("p", { class: "ranks" });
    this.table = h(
      "table",
      { class: "lines", role: "table" },
      h("thead", { role: "rowgroup" }, this.head),
      h(
        "tbody",
        { role: "rowgroup" },
        this.lines.map((line) => [line.node, line.editor]),
      ),
    );
    this.node = h(
      "div",
      {},
      h(
        "div",
        { class: "above" },
        h("label", { class: "check", for: "only-changed" }, this.filter, "only what changes or is limited"),
        button("Free all features", () => this.change({ ...this.state, controls: {} }), {
          class: "quiet",
          title: "no locks, no limits",
        }),
      ),
      this.ranks,
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Features and alternatives" }, this.table),
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
        {
          role: "columnheader",
          scope: "col",
          class: "to",
          title: k ? "the cheapest along another path of the tree" : "the cheapest of all",
        },
        h("span", { class: "rank" }, `#${k + 1}`),
        h(
          "span",
          { class: "says" },
          one.label,
          h("span", { class: one.verified ? "good" : "bad" }, one.verified ? " ✓" : " ✗ not confirmed"),
        ),
        h("span", { class: "cost" }, `cost ${one.cost}`),
      ),
    );
    const usual = ["Feature", "Now", "May change", ""].map((word, k) =>
      h(
        "th",
        { role: "columnheader", scope: "col", class: ["name", "now", "rules", "limits"][k] },
        word || h("span", { class: "unseen" }, "Limits"),
      ),
    );
    fill(this.head, usual, titles);
    this.table.style.minWidth = `${46 + 7.5 * titles.length}rem`;
    this.ranks.textContent = (answer?.answers ?? [])
      .map((one, k) => `#${k + 1} ${one.label}${one.verified ? " ✓" : " ✗"} cost ${one.cost}`)
      .join(" · ");
    this.lines.forEach((line, k) =>
      line.update(control(state, line.feature.name), valueOf(state, row, line.feature, k), answer, this.filter.checked),
    );
  }
}

/** The value that a feature has now: edited, or the row's own. */
const valueOf = (state, row, feature, k) =>
  Object.hasOwn(state.edits, feature.name) ? state.edits[feature.name] : row.values[k];

class Line {
  constructor(feature, set, edit) {
    this.feature = feature;
    this.open = false;
    const name = spoken(feature.name);
    this.now = feature.kind === "number" ? numberField(feature, edit, () => this.value) : choiceField(feature, edit);
    this.now.setAttribute("aria-label", `${name} now`);
    this.lock = button("", () => set({ lock: !this.said.lock }), { class: "lock" });
    this.ways =
      feature.kind === "number" || feature.kind === "ordinal"
        ? Object.entries(WAYS).map(([way, [sign, words]]) => [
            way,
            button(sign, () => set({ way: this.said.way === way ? "any" : way }), {
              class: "way",
              title: `${words}`,
              "aria-label": `${name} ${words}`,
            }),
          ])
        : [];
    this.summary = button("", () => this.toggle(), { class: "limit", "aria-expanded": "false" });
    this.title = h("th", { role: "rowheader", scope: "row", class: "name" }, name);
    this.cells = [];
    this.fixed = [
      this.title,
      h("td", { role: "cell", class: "now" }, this.now),
      h(
        "td",
        { role: "cell", class: "rules" },
        h(
          "div",
          {},
          this.lock,
          this.ways.map(([, node]) => node),
        ),
      ),
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
    this.value = value;
    const cell = own(answer?.cells, this.feature.name);
    const free = !said.lock && said.way === "any" && limits(this.feature, said) === "";
    this.node.hidden = filtered && !cell && free && !this.open;
    this.editor.hidden = !this.open || this.node.hidden;
    show(this.now, value === null && this.feature.kind !== "number" ? this.feature.values.length : value);
    const shown = spoken(this.feature.name);
    if (this.lock.ariaPressed !== String(said.lock)) fill(this.lock, padlock(said.lock), said.lock ? "locked" : "lock");
    this.lock.setAttribute("aria-pressed", String(said.lock));
    this.lock.setAttribute("aria-label", `lock ${shown}`);
    this.lock.title = said.lock ? "Locked: click to free it" : "Free: click to lock it";
    for (const [way, node] of this.ways) node.setAttribute("aria-pressed", String(said.way === way));
    this.summary.textContent = limits(this.feature, said) || "limits";
    this.summary.classList.toggle("set", limits(this.feature, said) !== "");
    this.summary.setAttribute("aria-label", `limits of ${shown}: ${limits(this.feature, said) || "none"}`);
    if (this.open) this.editing.update(said);
    if (answer === this.answer) return; // what the alternatives make of it is shown already
    this.answer = answer;
    const count = answer?.answers.length ?? 0;
    for (const old of this.cells) old.remove();
    this.cells = Array.from({ length: count }, (_, k) => changed(cell, k));
    this.node.append(...this.cells);
    this.room.setAttribute("colspan", 4 + count);
  }
}

/** What alternative k makes of a feature: "=" if nothing, else the new value with its direction. */
function changed(cell, k) {
  const given = { role: "cell", "data-k": `#${k + 1}` };
  if (!cell || cell.to[k] === "=") return h("td", { ...given, class: "to same" }, "=");
  const move = cell.move[k];
  const [kind, sign, words] =
    move === null ? ["other", "→", "becomes"] : move > 0 ? ["up", "▲", "rises to"] : ["down", "▼", "falls to"];
  return h(
    "td",
    { ...given, class: `to ${kind}` },
    h("span", { "aria-hidden": "true" }, `${sign} `),
    h("span", { class: "unseen" }, `${words} `),
    cell.to[k],
  );
}

function numberField(feature, edit, kept) {
  const input = h("input", {
    type: "number",
    step: feature.step ?? "any",
    class: "value",
    placeholder: "(missing)",
    required: true,
  });
  onNumber(input, edit, kept);
  return input;
}

function choiceField(feature, edit) {
  const options = feature.values.map((word, k) => h("option", { value: k }, word));
  if (feature.missing) options.push(h("option", { value: feature.values.length }, "(missing)"));
  return h("select", { class: "value", onchange: (event) => edit(Number(event.target.value)) }, options);
}
