// Groups of rows side by side, with the figures of an audit.

import { post } from "../../lib/api.js";
import { button, fill, h, markBusy, percentText as percent } from "../../lib/dom.js";
import { isTrack, nameOf, parseValue, varies } from "../features/values.js";
import { questionOf } from "./rows_data.js";

const PARTS = [
  ["has", "already there"],
  ["can", "can get there"],
  ["cannot", "cannot get there"],
  ["open", "not decided in time"],
  ["invalid", "cannot be read"],
];
const NOT_SHOWN =
  "They describe this model and these rows, for the question above. They do not show why the groups differ, whether the model " +
  "is right, or whether a change that the model rewards has an effect outside of it. Groups that are not among the features do " +
  "not appear.";

export class Groups {
  constructor(scene) {
    this.scene = scene;
    this.by = h(
      "select",
      { id: "groups-by", onchange: () => this.choose() },
      scene.features.map((feature) => h("option", { value: feature.name }, nameOf(feature))),
    );
    this.cuts = h("input", { type: "text", id: "groups-cuts", placeholder: "quarters", onchange: () => this.load() });
    this.cutsField = h("div", { class: "field" }, h("label", { for: "groups-cuts" }, "Cut at"), this.cuts, button("Apply", () => this.load()));
    this.progress = h("p", { class: "quiet rows-progress", role: "status" });
    this.result = h("div", {});
    this.node = h(
      "div",
      { class: "groups-view" },
      h(
        "div",
        { class: "rows-axes" },
        h("div", { class: "field" }, h("label", { for: "groups-by" }, "Groups by"), this.by),
        this.cutsField,
        this.progress,
      ),
      this.result,
    );
    const varied = scene.features.filter(varies);
    this.by.value = (varied.find((feature) => !isTrack(feature)) ?? varied[0] ?? scene.features[0]).name;
    this.showCuts();
  }

  get feature() {
    return this.scene.features.find(({ name }) => name === this.by.value);
  }

  showCuts() {
    this.cuts.value = "";
    this.cutsField.hidden = !isTrack(this.feature);
    this.cuts.placeholder = this.feature.kind === "date" ? "quarters, or 2020-01-01; 2021-01-01" : "quarters, or 25; 40";
  }

  choose() {
    this.showCuts();
    this.load();
  }

  update(state, row, answer) {
    const [question, key] = questionOf(this.scene, state, answer);
    this.question = question;
    if (key !== this.key || this.paused) this.load();
    this.key = key;
  }

  /** Stop loading, because the question may have changed. */
  pause() {
    this.paused = Boolean(this.request);
    this.request?.abort();
    this.request = null;
  }

  /** The bounds that the user entered, or null if they are not increasing numbers. */
  readCuts() {
    if (!isTrack(this.feature)) return [];
    const texts = this.cuts.value.split(/;|,\s|\s+/).filter(Boolean);
    const cuts = texts.map((text) => parseValue(this.feature, text));
    return cuts.every((cut, k) => Number.isFinite(cut) && (!k || cut > cuts[k - 1])) && cuts.length < 12 ? cuts : null;
  }

  async load() {
    if (!this.question) return;
    this.request?.abort();
    const request = (this.request = new AbortController());
    markBusy(this.result, true); // of an earlier question
    this.paused = false;
    const cuts = this.readCuts();
    this.cuts.setAttribute("aria-invalid", String(!cuts));
    if (!cuts) return fill(this.progress, `Enter up to 11 increasing ${this.feature.kind === "date" ? "dates, such as 2020-01-01; 2021-01-01" : "numbers, such as 25; 40"}.`);
    try {
      for (;;) {
        const body = { question: this.question, by: this.by.value, cuts };
        const reply = await post("/api/groups", body, request.signal);
        if (this.request !== request) return;
        if (reply.groups) return this.show(reply);
        fill(this.progress, `${reply.done.toLocaleString("en")} of ${reply.n_rows.toLocaleString("en")} rows …`);
      }
    } catch (error) {
      if (error.name === "AbortError" || this.request !== request) return;
      fill(this.progress, error.message);
      fill(this.result);
      markBusy(this.result, false);
    } finally {
      if (this.request === request) this.request = null;
    }
  }

  show(reply) {
    fill(this.progress);
    markBusy(this.result, false);
    const used = PARTS.filter(([name]) => reply.groups.some((group) => group[name]));
    const { kind, unit } = this.feature;
    const head = [kind === "number" && unit ? `${reply.label} (${unit})` : reply.label, "Rows", "Share of the rows", reply.unit === "share" ? "Median effort" : "Median cost", "Most frequent changes"];
    fill(
      this.result,
      h("div", { class: "groups-sentences" }, reply.sentences.map((text) => h("p", {}, text))),
      h(
        "ul",
        { class: "rows-keys" },
        used.map(([name, text]) => h("li", {}, h("span", { class: `groups-part ${name}` }), name === "has" ? `rows that ${reply.already}` : text)),
      ),
      h(
        "table",
        { class: "groups-table" },
        h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, reply.groups.map((group) => this.line(group, used, head))),
      ),
      h(
        "details",
        { class: "groups-notes", open: true },
        h("summary", {}, "What these figures do not show"),
        h("p", {}, NOT_SHOWN),
        reply.notes.map((text) => h("p", {}, text)),
        h(
          "p",
          {},
          "A report to keep, with intervals for every difference, the constraints in the way and measures of fairness: ",
          h("code", {}, "counterleaf report"),
          ".",
        ),
      ),
    );
  }

  line(group, used, head) {
    const segment = ([name, text]) => {
      const share = group[`share_${name}`];
      const node = h("span", { class: `groups-part ${name}`, title: `${text}: ${percent(share)}` });
      node.style.flexGrow = String(share);
      return share > 0 && node;
    };
    const words = used.filter(([name]) => group[name]).map(([name, text]) => `${percent(group[`share_${name}`])} ${text}`);
    const arrow = { 1: " ↑", "-1": " ↓", 0: " ↑↓" };
    const isWhole = group.cost_median === null;
    const cells = [
      group.rows.toLocaleString("en"),
      [h("span", { class: "groups-bar", "aria-hidden": "true" }, used.map(segment)), h("span", { class: "groups-words" }, words.join(", "))],
      isWhole ? "–" : [h("strong", {}, group.effort), group.effort_range[0] !== group.effort_range[1] && h("span", { class: "quiet" }, ` (middle half: ${group.effort_range.join(" to ")})`)],
      group.changes.length
        ? group.changes.map(({ label, share, direction }) => h("span", { class: "groups-change" }, `${label}${arrow[direction]} ${percent(share)}`))
        : "–",
    ];
    return h(
      "tr",
      { class: group.all ? "all" : "" },
      h("th", { scope: "row" }, group.label),
      cells.map((cell, k) => h("td", { "data-head": head[k + 1] }, cell)),
    );
  }
}

