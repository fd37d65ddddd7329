// The answer: a headline and one card per option; in their place, the conflicting settings, or why there is no answer.

import { button, fill, h, setText } from "../../lib/dom.js";
import { Card } from "./card.js";
import { describeConflict } from "./conflict.js";
import { Details } from "./details.js";
import { SelectedBar } from "./selected_bar.js";

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

export class AnswerView {
  constructor(node, bar, change, tools) {
    Object.assign(this, { node, change, tools, cards: [] });
    this.headline = h("h2", { id: "headline", tabindex: "-1" }, "Loading …");
    this.aside = h("p", { id: "aside", class: "aside" });
    this.spoken = h("p", { id: "sentence", class: "visually-hidden", "aria-live": "polite" });
    this.ways = h("div", { class: "ways", id: "ways" });
    this.more = h("div", { class: "option ghost" });
    this.reason = h("div", { class: "reason", id: "reason" });
    this.stripPlace = h("div", { class: "strip", id: "strip" });
    this.stage = h("div", { class: "stage" }, this.ways, this.reason);
    this.details = new Details();
    this.bar = new SelectedBar(bar, this.stage, tools);
    fill(
      node,
      h("div", { class: "head" }, this.headline, this.aside),
      this.stage,
      this.stripPlace,
      this.spoken,
      this.details.node,
    );
  }

  build(scene) {
    this.scene = scene;
    this.node.classList.toggle("of-images", Boolean(scene.shape));
  }

  update(state, answer, selected) {
    Object.assign(this, { state, answer, selected });
    this.node.style.setProperty("--count", state.count);
    const { ways } = answer;
    this.showHeadline(headlineOf(answer, this.scene), asideOf(answer));
    setText(this.spoken, answer.sentence);
    if (!ways.length) return this.showReason(this.noWays(state, answer));
    this.ways.hidden = false; // before the cards, which measure what fits
    const resolved = this.reason.contains(document.activeElement);
    while (this.cards.length > ways.length) this.cards.pop().node.remove();
    while (this.cards.length < ways.length) this.cards.push(this.newCard(this.cards.length));
    this.cards.forEach((card, k) => card.update(this.scene, answer, k, k === selected));
    if (answer.fewer) {
      setText(this.more, answer.fewer);
      this.ways.append(this.more);
    } else this.more.remove();
    if (this.reason.hasChildNodes()) fill(this.reason);
    if (resolved) this.cards[selected].pick.focus();
    this.bar.update(ways[selected], selected, ways.length);
    this.showKept();
  }

  newCard(k) {
    const card = new Card(k, this.tools, () => this.details.open(this.scene, this.state, this.answer, k));
    if (this.more.parentNode === this.ways) this.more.before(card.node);
    else this.ways.append(card.node);
    return card;
  }

  showKept() {
    this.cards.forEach((card, k) => card.showKept(this.tools.isKept(k)));
  }

  showHeadline(parts, aside) {
    const text = parts.map((part) => part.textContent ?? part).join("");
    if (this.headline.textContent !== text) fill(this.headline, parts);
    this.headline.title = text;
    setText(this.aside, aside);
  }

  noWays(state, answer) {
    if (answer.status === "infeasible") return describeConflict(state, answer, this.change);
    return [
      h("p", {}, "A change may exist. Allow fewer features to change, or start the command with a longer --time-limit."),
      button("Try again", () => this.tools.retry()),
    ];
  }

  /** Show something in place of the cards; the focus stays in the answer. */
  showReason(content) {
    const focused = this.stage.contains(document.activeElement);
    for (const card of this.cards.splice(0)) card.node.remove();
    this.more.remove();
    this.ways.hidden = true;
    fill(this.reason, content);
    if (focused && !this.reason.contains(document.activeElement)) (this.reason.querySelector("button") ?? this.headline).focus();
    this.bar.say(this.headline.textContent);
  }

  /** Show an error in place of an answer, which may exist. */
  showError(message) {
    this.answer = null;
    this.showHeadline(["The explorer did not answer this question"], "");
    setText(this.spoken, message);
    this.showReason([h("p", { id: "error" }, message), button("Try again", () => this.tools.retry())]);
  }

  /** Show why a row cannot be read. */
  showProblem(row) {
    this.answer = null;
    this.showHeadline([`${this.scene.noun} ${row.row} cannot be read`], "");
    setText(this.spoken, row.problem);
    this.showReason([h("p", { id: "error" }, row.problem), h("p", { class: "quiet" }, "Choose another row.")]);
  }
}

/** One plain sentence; the goal is emphasized. */
function headlineOf(answer, scene) {
  const { ways, status, already } = answer;
  if (already) return [ways.length || status !== "infeasible" ? `${already}.` : `${already}, and no allowed change does both.`];
  const target = h("strong", {}, goalOf(answer, scene));
  const say = scene.kind === "value" ? "predict" : "say";
  if (!ways.length) {
    if (status === "infeasible") return [`No allowed change makes the model ${say} `, target];
    return [`No change found in time that makes the model ${say} `, target];
  }
  if (!ways[0].n_changes) return [`Nothing has to change: the model ${say}s `, target, " already"];
  const [makes, make] = ways.every(({ confirmed }) => confirmed) ? ["makes", "make"] : ["may make", "may make"];
  if (ways.length > 1) return [`${ways.length > 2 ? "Any" : "Either"} of these ${NUMBERS[ways.length]} options ${makes} the model ${say} `, target];
  return [ways[0].n_changes > 1 ? `These changes ${make} the model ${say} ` : `This change ${makes} the model ${say} `, target];
}

/** The goal in words; of two classes it is the other one. */
function goalOf({ goal, ways, source }, { classes, kind }) {
  if (kind !== "class" || goal.text !== "anything else") return goal.text;
  const labels = new Set(ways.length ? ways.map(({ label }) => label) : classes.filter((label) => label !== source.label));
  return labels.size === 1 ? [...labels][0] : `anything but ${source.label}`;
}

/** What the user should know about the search. */
function asideOf({ status, stopped_after, ways }) {
  if (status !== "limit") return "";
  const reason = stopped_after ? `Stopped after ${stopped_after} s` : "Stopped before the proof was complete";
  if (!ways.length) return `${reason}.`;
  return `${reason}: ${ways[0].proved ? "other options may be missing" : ways[0].proof.claim}.`;
}
