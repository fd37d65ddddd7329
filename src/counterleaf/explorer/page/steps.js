// Every state is a step: back and forward with the buttons, the keys or the browser's own arrows.

import { stored } from "./dom.js";
import { encode, same } from "./state.js";

const STORE = "counterleaf-steps";
const MOST = 60; // steps that outlive a reload

/** The steps of this tab: `list` of {state, hash, result}, `at` the one shown. */
export class Steps {
  constructor(onmove) {
    this.list = [];
    this.at = -1;
    addEventListener("popstate", (event) => {
      const at = event.state?.at;
      const known = this.list[at];
      if (known && known.hash === location.hash) {
        this.at = at;
        this.save();
        onmove(known.state);
      } else onmove(null);
    });
  }

  /** Begin with a state; after a reload, with the steps that led to it. */
  start(state) {
    const hash = encode(state);
    const kept = stored(sessionStorage, STORE, {});
    const at = history.state?.at;
    if (kept.list?.[at]?.hash === hash && at === kept.at) {
      this.list = kept.list;
      this.at = at;
    } else {
      this.list = [{ state, hash }];
      this.at = 0;
    }
    history.replaceState({ at: this.at }, "", location.pathname + hash);
    this.save();
  }

  /** One more step; what had been undone is forgotten. */
  push(state) {
    if (same(state, this.list[this.at]?.state)) return;
    const hash = encode(state);
    this.list = [...this.list.slice(0, this.at + 1), { state, hash }];
    this.at += 1;
    history.pushState({ at: this.at }, "", location.pathname + hash);
    this.save();
  }

  /** What came out of the step shown, for the table that compares them. */
  record(state, result) {
    const step = this.list[this.at];
    if (step && same(step.state, state)) {
      step.result = result;
      this.save();
    }
  }

  go(at) {
    if (at >= 0 && at < this.list.length && at !== this.at) history.go(at - this.at);
  }

  save() {
    const first = Math.max(0, this.list.length - MOST);
    const list = this.list.map((step, k) => (k < first ? null : step));
    try {
      sessionStorage.setItem(STORE, JSON.stringify({ list, at: this.at }));
    } catch {
      sessionStorage.removeItem(STORE); // full: the steps then last until the tab is loaded again
    }
  }
}
