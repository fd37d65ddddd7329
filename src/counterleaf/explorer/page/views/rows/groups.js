// Groups of rows side by side.

import { h } from "../../lib/dom.js";

export class Groups {
  constructor(scene) {
    this.node = h("p", { class: "quiet" }, `${scene.n_rows.toLocaleString("en")} rows.`);
  }

  update() {}
}
