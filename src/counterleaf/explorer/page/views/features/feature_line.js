// One line of the table: a feature's name, its value now, its track or chips, its value in the selected option, lock and more.

import { button, fill, h, padlock, setText } from "../../lib/dom.js";
import { Chips } from "./chips.js";
import { More } from "./more.js";
import { NowField } from "./now_field.js";
import { Track } from "./track.js";
import { describeSettings, isTrack, nameOf } from "./values.js";

const SIGNS = { 1: ["▲", "increases to"], "-1": ["▼", "decreases to"], 0: ["", "becomes"] };

export class FeatureLine {
  /** `actions` are set(patch, live), edit(value, live) and reset(). */
  constructor(feature, k, { set, edit, reset }) {
    this.feature = feature;
    this.id = `feature-${k}`;
    this.set = set;
    this.searched = `${feature.name} ${nameOf(feature)} ${feature.description ?? ""}`.toLowerCase();
    this.now = new NowField(feature, edit, reset);
    this.picture = isTrack(feature) ? new Track(feature, set) : new Chips(feature, set);
    this.lock = button("", () => set({ lock: !this.control.lock }), {
      class: "lock",
      "aria-label": `lock ${nameOf(feature)}`,
    });
    this.opener = button("", () => this.toggle(), {
      class: "more-button",
      "aria-label": `more settings of ${nameOf(feature)}`,
      "aria-expanded": "false",
      title: "More settings",
    });
    this.opener.append(chevron());
    this.to = h("td", { role: "cell", class: "to" });
    this.settings = h("span", { class: "settings-text" });
    this.panel = h("td", { role: "cell", class: "more-cell" });
    this.panelRow = h("tr", { role: "row", class: "more-row", hidden: true }, this.panel);
    this.node = h("tbody", { role: "rowgroup", class: "feature" }, this.row(), this.panelRow);
  }

  row() {
    const { feature } = this;
    return h(
      "tr",
      { role: "row", class: isTrack(feature) ? "line" : "line with-chips" },
      h(
        "th",
        { role: "rowheader", scope: "row", class: "name" },
        h("span", { class: "label" }, nameOf(feature)),
        feature.description && h("span", { class: "description", title: feature.description }, feature.description),
        this.settings,
      ),
      h("td", { role: "cell", class: "now" }, this.now.node),
      h("td", { role: "cell", class: "picture" }, this.picture.node),
      this.to,
      h("td", { role: "cell", class: "buttons" }, this.lock, this.opener),
    );
  }

  toggle() {
    const open = this.panelRow.hidden;
    if (open && !this.more) {
      this.more = new More(this.feature, this.set, this.picture instanceof Chips && this.picture, this.id);
      this.panel.append(this.more.node);
    }
    if (open) this.more.update(this.control);
    this.panelRow.hidden = !open;
    this.opener.setAttribute("aria-expanded", String(open));
  }

  get isOpen() {
    return !this.panelRow.hidden;
  }

  /** `changes` has one entry per option, undefined if the option does not change the feature. */
  update({ control, value, original, imputed, changes, selected, answered }) {
    const key = JSON.stringify([control, value, original, imputed, changes, selected, answered]);
    if (key === this.key) return;
    this.key = key;
    this.control = control;
    this.now.update(value, original, imputed);
    this.picture.update(
      control,
      value,
      changes.map((change) => change?.to_value),
      selected,
    );
    this.showWay(changes[selected], answered);
    this.showSettings(control);
    if (this.isOpen) this.more.update(control);
  }

  showWay(change, answered) {
    this.node.classList.toggle("changed", Boolean(change));
    const key = JSON.stringify([change?.to, change?.direction, answered]);
    if (key === this.wayKey) return;
    this.wayKey = key;
    if (!change) return fill(this.to, answered && unchanged());
    const [sign, verb] = SIGNS[Math.sign(change.direction ?? 0)];
    fill(
      this.to,
      h("span", { class: "visually-hidden" }, `${verb} `),
      change.to,
      sign && h("span", { class: "sign", "aria-hidden": "true" }, ` ${sign}`),
    );
  }

  showSettings(control) {
    const rules = this.feature.rules.length ? [`always required: ${this.feature.rules.join("; ")}`] : [];
    const text = [...describeSettings(this.feature, control), ...rules].join(" · ");
    setText(this.settings, text);
    const locked = String(control.lock);
    if (this.lock.getAttribute("aria-pressed") === locked) return;
    this.lock.setAttribute("aria-pressed", locked);
    this.lock.title = control.lock ? "Locked: click to let it change" : "Lock: it must stay as it is";
    fill(this.lock, padlock(control.lock));
    this.node.classList.toggle("locked", control.lock);
  }
}

const unchanged = () => [h("span", { "aria-hidden": "true" }, "="), h("span", { class: "visually-hidden" }, "unchanged")];

const chevron = () =>
  h(
    "svg:svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" },
    h("svg:path", { d: "M3 6l5 5 5-5", fill: "none", stroke: "currentColor", "stroke-width": 1.8 }),
  );
