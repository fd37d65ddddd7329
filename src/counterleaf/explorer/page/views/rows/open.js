// Open a model or rows.

/** Let the user choose a file; `tools.openScene(key)` shows the scene that the server makes of it. */
export function openFiles(tools) {
  tools.notify("Start the command with your model to open it: counterleaf explore model.json --data rows.csv");
}
