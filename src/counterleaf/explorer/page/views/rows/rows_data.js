// The columns of the table, and the efforts of all rows, which arrive in blocks.

import { post } from "../../lib/api.js";

export const MOST_ROWS = 100_000; // that the page shows at once
export const [HAS, CAN, CANNOT, LIMIT, UNREADABLE, FOUND] = [0, 1, 2, 3, 4, 5]; // FOUND: an option that is not proved to be the best

const goals = new WeakMap(); // of data sets: the first one, where the user chose none

/** The goal for all rows. Where the user chose none, it is the first one that the page showed, for whichever row. */
function goalOf(scene, { target, at_least, at_most }, answer) {
  const isValue = scene.kind === "value";
  if (isValue ? at_least !== null || at_most !== null : target.length || scene.classes.length !== 2) return {};
  if (answer && !goals.has(scene)) {
    const { goal, source } = answer;
    const ends = { at_least: goal.at_least, at_most: goal.at_most };
    goals.set(scene, isValue ? ends : { target: scene.classes.filter((name) => name !== source.label) });
  }
  return goals.get(scene) ?? {};
}

/** The question for all rows, and a key that changes with it. */
export function questionOf(scene, state, answer) {
  const question = { ...state, ...goalOf(scene, state, answer), edits: {}, count: 1 };
  return [question, JSON.stringify({ ...question, row: 0 })];
}

/** The rows of a data set. `changed()` is called after each block. */
export class RowsData {
  constructor(scene, changed) {
    Object.assign(this, { scene, changed, columns: new Map(), n: Math.min(scene.n_rows, MOST_ROWS) });
    this.reset();
  }

  reset() {
    Object.assign(this, { status: [], effort: [], changes: [], says: [], chance: [], next: 0, error: null });
  }

  get done() {
    return this.status.length;
  }

  /** Load the efforts for a question, or continue to. */
  update(state, answer) {
    const [question, key] = questionOf(this.scene, state, answer);
    this.question = question;
    if (key !== this.key) {
      this.pause();
      this.key = key;
      this.reset();
      this.changed();
    }
    if (this.next !== null && !this.request) this.load();
  }

  /** Cancel the running request; `update` continues. */
  pause() {
    this.request?.abort();
    this.request = null;
  }

  async load() {
    const request = (this.request = new AbortController());
    try {
      while (this.next !== null && this.request === request) {
        const part = await post("/api/efforts", { question: this.question, start: this.next }, request.signal);
        if (this.request !== request) return;
        for (const [name, values] of [
          ["status", part.status],
          ["effort", part.effort],
          ["changes", part.n_changes],
          ["says", part.class_index ?? part.value],
          ["chance", part.probability ?? []],
        ])
          this[name] = this[name].concat(values);
        this.next = part.next;
        this.changed();
      }
    } catch (error) {
      if (error.name === "AbortError" || this.request !== request) return;
      Object.assign(this, { error: error.message, next: null });
      this.changed();
    } finally {
      if (this.request === request) this.request = null;
    }
  }

  /** The values of a feature, or null while they are loaded. */
  column(name) {
    if (!this.columns.has(name)) {
      this.columns.set(name, null);
      post("/api/columns", { scene: this.scene.key, names: [name] }).then(
        ({ columns }) => {
          this.columns.set(name, columns[name]);
          this.changed();
        },
        (error) => {
          this.columns.delete(name);
          this.error = error.message;
          this.changed();
        },
      );
    }
    return this.columns.get(name);
  }
}
