// The explorer inside a notebook: a frame with a unique origin, whose requests pass through the widget to the kernel.

const HEIGHT = "counterleaf-height";

function render({ model, el }) {
  const view = crypto.getRandomValues(new Uint32Array(2)).join("-"); // the same widget may be shown several times
  const frame = document.createElement("iframe");
  frame.title = "counterleaf explorer";
  frame.sandbox = "allow-scripts allow-downloads allow-modals allow-popups";
  Object.assign(frame.style, { width: "100%", height: "100%", border: "0", display: "block" });
  const box = document.createElement("div"); // its lower right corner is dragged to change the height
  box.className = HEIGHT;
  Object.assign(box.style, { resize: "vertical", overflow: "hidden", minHeight: "240px", paddingBottom: "12px" });
  Object.assign(box.style, { height: `${model.get("height")}px`, boxSizing: "border-box" });
  box.append(frame);
  el.append(box);

  const toFrame = (message) => frame.contentWindow?.postMessage(message, "*"); // its origin is unique
  const toKernel = (message) => model.send({ ...message, view });
  const fromFrame = ({ source, data }) => {
    if (source === frame.contentWindow && typeof data === "object" && data !== null) toKernel(data);
  };
  const fromKernel = (message) => {
    if (message.view !== view) return;
    if (message.page) frame.srcdoc = message.page;
    else toFrame(message);
  };
  const showTheme = () => toFrame({ theme: isDark() ? "dark" : "light" });
  const themes = new MutationObserver(showTheme);
  themes.observe(document.body, { attributes: true, attributeFilter: ["class", "data-jp-theme-light", "data-theme"] });
  frame.addEventListener("load", showTheme);
  addEventListener("message", fromFrame);
  model.on("msg:custom", fromKernel);
  toKernel({ page: true });
  return () => {
    removeEventListener("message", fromFrame);
    model.off("msg:custom", fromKernel);
    themes.disconnect();
    toKernel({ closed: true });
  };
}

/** Whether the notebook is dark: JupyterLab, Notebook and VS Code mark their body, others have a dark background. */
function isDark() {
  const { dataset, classList } = document.body;
  if (dataset.jpThemeLight) return dataset.jpThemeLight === "false";
  if (classList.contains("vscode-dark")) return true;
  const [red, green, blue, alpha = 1] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [];
  return alpha > 0 && red + green + blue < 384;
}

export default { render };
