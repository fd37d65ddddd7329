// Open a model or rows: a dialog, and files that are dropped on the page.

import { post } from "../../lib/api.js";
import { button, fill, h } from "../../lib/dom.js";

const BINARY = /\.(xlsx?|ods|parquet|pkl|pickle|joblib|skops|gz|zip|pdf|png|jpe?g)$/i;

/** Whether a text is the JSON of a model, an answer or the like of counterleaf; other JSON has rows. */
const isModel = (text) => /^\s*\{/.test(text) && /"format"\s*:\s*"counterleaf-/.test(text.slice(0, 4000) + text.slice(-4000));

/** The text of a file; raises with one line for a file that is too large or not text. */
async function readText(file, most) {
  if (BINARY.test(file.name))
    throw new Error(`${file.name} is not a text file. Save the model with explainer.to_json(), and rows as CSV, or paste the cells.`);
  if (file.size > most)
    throw new Error(`${file.name} is larger than ${most / 1e6} MB. Start the command with it: counterleaf explore model.json --data rows.csv`);
  return file.text();
}

class OpenDialog {
  constructor(tools) {
    this.tools = tools;
    this.node = h("dialog", { class: "open-dialog", "aria-labelledby": "open-title" });
    this.node.addEventListener("close", () => this.opener?.focus());
    this.node.addEventListener("click", (event) => event.target === this.node && this.node.close());
    document.body.append(this.node);
    this.message = h("p", { class: "open-message", role: "alert" });
  }

  show() {
    if (!this.node.open) {
      this.opener = document.activeElement;
      this.node.showModal();
    }
  }

  /** The form for a file or pasted rows. */
  ask() {
    const title = this.tools.scene?.title ?? "this model";
    const files = h("input", { type: "file", id: "open-file", multiple: true, onchange: () => this.take([...files.files]) });
    this.text = h("textarea", { id: "open-text", rows: 7, spellcheck: "false", placeholder: this.example() });
    fill(
      this.node,
      h("h2", { id: "open-title" }, "Open a model or rows"),
      h(
        "div",
        { class: "open-part" },
        h("label", { for: "open-file" }, "A model (JSON written by counterleaf) or rows (CSV, JSON)"),
        files,
        h("p", { class: "quiet" }, "You can also drop a file anywhere on the page. It stays on this machine."),
      ),
      h(
        "div",
        { class: "open-part" },
        h("label", { for: "open-text" }, `Rows for ${title}: paste cells of a spreadsheet, CSV or JSON`),
        this.text,
        h(
          "div",
          { class: "open-buttons" },
          button("Use these rows", () => this.run(() => this.openRows("pasted rows", this.text.value)), { class: "primary" }),
          button("Type a new row", () => this.run(() => this.openRows("new row", null)), {
            title: "Start with a row of typical values, and edit it in the table of features",
          }),
        ),
      ),
      this.message,
      h("div", { class: "open-buttons end" }, button("Cancel", () => this.node.close())),
    );
    fill(this.message);
    this.show();
  }

  /** The first columns of the model, with typical values below. */
  example() {
    const features = (this.tools.scene?.features ?? []).slice(0, 3);
    const names = features.map(({ name }) => name).join(";");
    const values = features.map(({ values: options, lower, upper }) => options?.[0] ?? lower ?? upper ?? 0).join(";");
    return `${names};…\n${values};…`;
  }

  /** Open files, models first, so that rows that come with a model are rows for it. */
  take(files) {
    return this.run(async () => {
      const texts = [];
      for (const file of files) texts.push([file.name, await readText(file, this.tools.scene.max_file)]);
      const models = texts.filter(([, text]) => isModel(text));
      const tables = texts.filter(([, text]) => !isModel(text));
      let notes = [];
      let scene = null;
      for (const [name, text] of models) {
        const opened = await post("/api/open", { name, text });
        [scene, notes] = [opened.key, opened.notes];
      }
      for (const [name, text] of tables) ({ key: scene, notes } = await this.postRows(name, text, scene ?? this.tools.scene.key));
      return { key: scene, notes };
    });
  }

  postRows(name, text, scene) {
    return post("/api/rows", { scene, name, text });
  }

  openRows(name, text) {
    return this.postRows(name, text, this.tools.scene.key);
  }

  /** Do something that opens a data set; show how the file was understood, or one line about what is wrong with it. */
  async run(act) {
    this.node.setAttribute("aria-busy", "true");
    fill(this.message);
    try {
      const { key, notes } = await act();
      if (key === null) return;
      await this.tools.openScene(key);
      this.tell(notes);
    } catch (error) {
      if (!this.node.open) this.ask();
      fill(this.message, error.message);
    } finally {
      this.node.removeAttribute("aria-busy");
    }
  }

  tell(notes) {
    const done = button("Continue", () => this.node.close(), { class: "primary" });
    fill(
      this.node,
      h("h2", { id: "open-title" }, "Opened"),
      h("div", { role: "status" }, notes.map((text) => h("p", {}, text))),
      h("div", { class: "open-buttons end" }, done),
    );
    this.show();
    done.focus();
  }
}

let dialog = null;

/** Show the dialog. */
export function openFiles(tools) {
  dialog ??= new OpenDialog(tools);
  dialog.ask();
}

/** Let the user drop files on the page. */
export function listenToDrops(tools) {
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const mark = (on) => document.body.classList.toggle("dropping", on);
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(false);
    dialog ??= new OpenDialog(tools);
    dialog.take([...event.dataTransfer.files]);
  });
}
