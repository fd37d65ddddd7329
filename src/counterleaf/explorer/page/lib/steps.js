// Every question is a step. The list is the page's, because browsers keep 50 entries only; their back and forward buttons also
// move through it, as far as they reach.

import { encode, same } from "./state.js";
import { ofTab, read, write } from "./store.js";

const STORE = "counterleaf-steps";
const MAX_STORED = 500; // steps that survive a reload
const MAX_RESULTS = 60; // of which the last ones keep their results for the comparison

/** The steps of this tab: `list` contains {state, hash, result, selected}, `at` is the index of the current one. */
export class Steps {
  /** `onMove(state)` is called after a move, with null if the address has a question that is not among the steps. */
  constructor(onMove) {
    Object.assign(this, { onMove, list: [], at: -1, entry: 0, lastEntry: 0 });
    addEventListener("popstate", (event) => this.follow(event.state ?? {}));
    addEventListener("pagehide", () => this.save());
  }

  get current() {
    return this.list[this.at];
  }

  /** Start with a state, or after a reload with the steps around it. */
  start(state) {
    const hash = encode(state);
    const stored = read(ofTab, STORE, {});
    const at = history.state?.at;
    if (Array.isArray(stored.list) && at === stored.at && same(stored.list[at]?.state, state)) {
      this.list = stored.list.map((step) => (step?.state ? { ...step, hash: encode(step.state) } : null));
      this.at = at;
      this.entry = Number(history.state.entry) || 0;
      this.lastEntry = Math.max(this.entry, Number(stored.lastEntry) || 0);
    } else {
      this.list = [{ state, hash }];
      this.at = 0;
    }
    this.mark("replaceState");
  }

  /** Add a step; steps that were undone are removed. */
  push(state) {
    if (same(state, this.current?.state)) return;
    this.add(state);
    this.lastEntry = this.entry += 1;
    this.mark("pushState");
  }

  /** Add a step for a question that the user entered as an address. */
  adopt(state) {
    this.add(state);
    this.mark("replaceState");
  }

  add(state) {
    this.list = [...this.list.slice(0, this.at + 1), { state, hash: encode(state) }];
    this.at += 1;
  }

  /** Store the result of the current step for the comparison. */
  record(state, result, selected) {
    if (!same(this.current?.state, state)) return;
    Object.assign(this.current, { result, selected });
    this.saveSoon();
  }

  /** Undo, redo, or show any step. The entry of the browser's history changes with it. */
  go(at) {
    if (!this.list[at] || at === this.at) return;
    this.at = at;
    this.mark("replaceState");
    this.onMove(this.current.state);
  }

  /** The user went back or forward in the browser's history. */
  follow({ at, entry }) {
    const backward = entry < this.entry;
    const before = this.current?.hash;
    this.entry = Number(entry) || 0;
    if (location.hash === before) {
      // After an undo, two neighbouring entries have the same question: go on to the next one.
      if (backward && this.entry > 0) history.back();
      else if (entry !== undefined && !backward && this.entry < this.lastEntry) history.forward();
      return;
    }
    const found = this.list[at]?.hash === location.hash ? at : this.list.findLastIndex((step) => step?.hash === location.hash);
    if (found >= 0) this.at = found;
    this.saveSoon();
    this.onMove(found >= 0 ? this.current.state : null);
  }

  /** Write the current question into the address. */
  mark(method) {
    try {
      history[method]({ at: this.at, entry: this.entry }, "", location.pathname + this.current.hash);
    } catch {
      // the frame of a notebook may have no history; the list still works
    }
    this.saveSoon();
  }

  /** Save when the page is idle, so that answers appear first. */
  saveSoon() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(), 400);
  }

  save() {
    const list = this.list.map(({ state, result, selected } = {}, k, { length }) => {
      if (!state || k < length - MAX_STORED) return null;
      return k < length - MAX_RESULTS ? { state, selected } : { state, result, selected };
    });
    write(ofTab, STORE, { list, at: this.at, lastEntry: this.lastEntry });
  }
}
