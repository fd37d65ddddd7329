// The pinned steps, which survive the tab, and the summary of an answer that is stored with a step.

import { readStore } from "./dom.js";
import { isState } from "./state.js";

const STORE = "counterleaf-pinned";
export const MAX_STEPS = 60; // the server exports at most this number of steps at once

/** The part of an answer that the comparison shows. */
export function summarize(answer) {
  const changes = Object.entries(answer.changes).filter(([, change]) => change.to[0] !== "=");
  return {
    source_label: answer.source_label,
    status: answer.status,
    best: answer.answers[0] ?? null,
    changes: Object.fromEntries(
      changes.map(([name, change]) => [name, { source: change.source, to: change.to[0], direction: change.direction[0] }]),
    ),
    settings: answer.settings,
    image: answer.image ? { ...answer.image, answers: answer.image.answers.slice(0, 1) } : null,
  };
}

/** Whether a stored value is such a summary; earlier versions stored other ones. */
const isSummary = (value) => Boolean(value?.changes) && Array.isArray(value.settings);

/** The pinned steps, identified by the fragment of their address. */
export class PinnedSteps {
  constructor() {
    this.list = readStore(localStorage, STORE, []).filter((step) => isSummary(step?.result) && isState(step.state));
  }

  has(hash) {
    return this.list.some((step) => step.hash === hash);
  }

  /** Update the result of a step that was pinned before its answer arrived. */
  refresh(step) {
    if (this.has(step.hash)) this.save(this.list.map((one) => (one.hash === step.hash ? step : one)));
  }

  toggle(step) {
    const others = this.list.filter((one) => one.hash !== step.hash);
    this.save(others.length < this.list.length ? others : [...this.list, step].slice(-MAX_STEPS));
  }

  save(list) {
    this.list = list;
    try {
      localStorage.setItem(STORE, JSON.stringify(this.list));
    } catch {
      localStorage.removeItem(STORE); // the store is full: the pins last until the next reload
    }
  }
}
