// Every state is a step; undo and redo work with the buttons, the keyboard and the browser's back and forward buttons.

import { readStore } from "./dom.js";
import { encode, same } from "./state.js";

const STORE = "counterleaf-steps";
const MAX_STORED = 60; // steps that survive a reload

/** The steps of this tab: `list` contains {state, hash, result}, `at` is the index of the current one. */
export class Steps {
  /** `onMove(state)` is called after a move, with null if the address has a state that is not among the steps. */
  constructor(onMove) {
    this.list = [];
    this.at = -1;
    addEventListener("popstate", (event) => {
      const at = event.state?.at;
      const step = this.list[at];
      if (step && step.hash === location.hash) {
        this.at = at;
        this.save();
        onMove(step.state);
      } else onMove(null);
    });
  }

  get current() {
    return this.list[this.at];
  }

  /** Start with a state, or after a reload with the steps before it. */
  start(state) {
    const hash = encode(state);
    const stored = readStore(sessionStorage, STORE, {});
    const at = history.state?.at;
    if (stored.list?.[at]?.hash === hash && at === stored.at) {
      this.list = stored.list;
      this.at = at;
    } else {
      this.list = [{ state, hash }];
      this.at = 0;
    }
    history.replaceState({ at: this.at }, "", location.pathname + hash);
    this.save();
  }

  /** Add a step; steps that were undone are removed. */
  push(state) {
    if (same(state, this.current?.state)) return;
    const hash = encode(state);
    this.list = [...this.list.slice(0, this.at + 1), { state, hash }];
    this.at += 1;
    history.pushState({ at: this.at }, "", location.pathname + hash);
    this.save();
  }

  /** Store the result of the current step for the comparison. */
  record(state, result) {
    const step = this.current;
    if (step && same(step.state, state)) {
      step.result = result;
      this.save();
    }
  }

  go(at) {
    if (at >= 0 && at < this.list.length && at !== this.at) history.go(at - this.at);
  }

  save() {
    const first = Math.max(0, this.list.length - MAX_STORED);
    const list = this.list.map((step, k) => (k < first ? null : step));
    try {
      sessionStorage.setItem(STORE, JSON.stringify({ list, at: this.at }));
    } catch {
      sessionStorage.removeItem(STORE); // the store is full: the steps last until the next reload
    }
  }
}
