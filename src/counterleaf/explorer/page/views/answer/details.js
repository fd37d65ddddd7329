// The details of an option, in a dialog: every change, the cost, the leaf, the proof and its check.

import { post } from "../../lib/api.js";
import { button, fill, h } from "../../lib/dom.js";
import { values } from "./card.js";

export class Details {
  constructor() {
    this.node = h("dialog", { class: "details", "aria-labelledby": "details-title" });
    this.node.addEventListener("click", (event) => event.target === this.node && this.node.close()); // outside
  }

  open(scene, state, answer, k) {
    const way = answer.ways[k];
    const outcome = h("span", { role: "status" });
    const check = button("Check the proof", () => checkProof(state, outcome));
    const facts = [
      ["Effort", way.effort.words],
      ["Cost", way.proof.cost],
      ["Lower bound", way.proof.lower_bound ?? "none"],
      ["Gap", way.proof.gap ?? "not known"],
      ["Measure", answer.measure],
      ["Leaf", String(way.leaf)],
      ["Model says", way.number ? `${way.label}, ${way.number.text}` : way.label],
      ["Confirmed", way.confirmed ? "yes, by the model itself" : "no"],
      ["Proof", `${way.proved ? "proved" : "not proved"}: ${way.proof.claim}`],
      ["Answered in", `${answer.milliseconds < 10 ? answer.milliseconds.toFixed(1) : Math.round(answer.milliseconds)} ms`],
    ];
    fill(
      this.node,
      h(
        "div",
        { class: "sheet-head" },
        h("h2", { id: "details-title" }, `Option ${k + 1}`),
        button("Close", () => this.node.close(), { class: "primary", autofocus: true }),
      ),
      !scene.shape &&
        h(
          "ul",
          { class: "changes all" },
          way.changes.map((change) =>
            h("li", {}, h("span", { class: "what" }, change.label), values(change), h("small", { class: "quiet" }, change.share_text)),
          ),
        ),
      h("dl", {}, facts.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
      h("p", { class: "check" }, check, outcome),
    );
    this.node.showModal();
  }
}

/** Check the proof again, on the server, without the search. */
async function checkProof(state, outcome) {
  outcome.textContent = "checking …";
  try {
    const { holds, n_parts, milliseconds } = await post("/api/check", state);
    if (holds === null) outcome.textContent = "There is no complete proof to check: the search stopped.";
    else if (!holds) outcome.textContent = "The proof does NOT hold.";
    else outcome.textContent = `The proof holds: ${n_parts.toLocaleString("en")} parts checked in ${Math.round(milliseconds)} ms.`;
  } catch (error) {
    outcome.textContent = error.message;
  }
}
