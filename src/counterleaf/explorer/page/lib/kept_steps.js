// The options that the user keeps. All tabs of this browser share them.

import { encode, isState } from "./state.js";
import { read, shared, write } from "./store.js";

const STORE = "counterleaf-kept";
export const MAX_STEPS = 60; // the server exports at most this number of steps at once

/** The part of an answer that the comparison shows, with the option `k`. */
export function summarize(answer, k = 0) {
  const { source, status, goal, settings, image } = answer;
  return {
    source,
    status,
    goal,
    settings,
    way: answer.ways[k] ?? null,
    image: image ? { ...image, answers: image.answers.slice(k, k + 1) } : null,
  };
}

/** Whether a stored value is a kept step; earlier versions stored other ones. */
const isKept = (step) =>
  isState(step?.state) && Array.isArray(step.result?.settings) && Boolean(step.result.source) && "way" in step.result;

/** What identifies a kept option: its question and its rank. */
const keyOf = ({ state, selected }) => `${selected ?? 0}${encode(state)}`;

/** The kept steps: {state, hash, selected, result}. */
export class KeptSteps {
  /** `onChange()` is called when another tab keeps or removes a step. */
  constructor(onChange) {
    this.list = this.stored();
    addEventListener("storage", ({ key }) => {
      if (key !== null && key !== STORE) return;
      this.list = this.stored();
      onChange();
    });
  }

  stored() {
    return read(shared, STORE, [])
      .filter(isKept)
      .map((step) => ({ ...step, hash: encode(step.state) }));
  }

  has(step) {
    return Boolean(step) && this.list.some((one) => keyOf(one) === keyOf(step));
  }

  toggle(step) {
    const key = keyOf(step);
    if (this.has(step)) this.save((list) => list.filter((one) => keyOf(one) !== key));
    else this.save((list) => [...list.filter((one) => keyOf(one) !== key), step].slice(-MAX_STEPS));
  }

  /** Change the stored list, which another tab may have changed since. */
  save(edit) {
    this.list = edit(this.stored());
    write(
      shared,
      STORE,
      this.list.map(({ state, selected, result }) => ({ state, selected, result })),
    );
  }
}
