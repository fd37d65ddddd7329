// All rows of the table, on two axes and as a list.

import { h } from "../../lib/dom.js";

export class AllRows {
  constructor(scene) {
    this.node = h("p", { class: "quiet" }, `${scene.n_rows.toLocaleString("en")} rows.`);
  }

  update() {}
}
