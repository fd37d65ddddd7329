// Small tools for the document: no framework, no templates.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes or properties, listeners ("onclick") and children; "svg:rect" makes an SVG one. */
export function h(tag, given = {}, ...children) {
  const svg = tag.startsWith("svg:");
  const node = svg ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (!svg && typeof value === "boolean" && key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Put new children in place of all there are; the focus stays on what is called the same. */
export function fill(node, ...children) {
  const held = node.contains(document.activeElement) && document.activeElement;
  node.replaceChildren(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  if (held) [...node.querySelectorAll("button, input, select")].find((one) => nameOf(one) === nameOf(held))?.focus();
}

const nameOf = (node) => node.id || node.ariaLabel || node.textContent;

/** A button; `given` may hold its aria-pressed state. */
export function button(label, onclick, given = {}) {
  return h("button", { type: "button", onclick, ...given }, label);
}

/** Set an input's value, but not under a hand that has begun to type and not finished. */
export function show(input, value) {
  const text = value === null || value === undefined ? "" : String(value);
  if (!input.dataset.typing && input.value !== text) input.value = text;
}

addEventListener("input", ({ target }) => target.type === "number" && (target.dataset.typing = "yes"), true);
for (const end of ["change", "focusout"]) addEventListener(end, ({ target }) => delete target.dataset?.typing, true);

/** Call `take` with a number that was typed; one that cannot be is told by the browser and put back as `kept()` says. */
export function onNumber(input, take, kept, empty) {
  input.addEventListener("change", () => {
    const sound = input.value === "" ? empty !== undefined && !input.validity.badInput : input.validity.valid;
    if (sound) return take(input.value === "" ? empty : input.valueAsNumber);
    input.reportValidity();
    setTimeout(() => show(input, kept()), 1500);
  });
}

/** What an object holds under a name that a person chose: "constructor" is a name too. */
export const own = (object, name) => (object && Object.hasOwn(object, name) ? object[name] : undefined);

/** A feature's name as people would say it. */
export const spoken = (name) => name.replaceAll("_", " ");

/** What was stored under a name, or `other` where there is nothing of its kind. */
export function stored(store, name, other) {
  try {
    const found = JSON.parse(store.getItem(name));
    return typeof found === "object" && found !== null && Array.isArray(found) === Array.isArray(other) ? found : other;
  } catch {
    return other;
  }
}

/** Hand a text to the person as a file. */
export function download(name, type, text) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A padlock, shut or open; drawn, since not every machine has one among its letters. */
export function padlock(shut) {
  return h(
    "svg:svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" },
    h("svg:rect", { x: 2.5, y: 7, width: 11, height: 8, rx: 1.5, fill: "currentColor" }),
    h("svg:path", {
      d: shut ? "M5 7V4.5a3 3 0 0 1 6 0V7" : "M5 7V4.5a3 3 0 0 1 5.8 -1.2",
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 1.8,
    }),
  );
}

/** A number in few digits, as people write it. */
export function brief(value) {
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value) : String(Number(value.toPrecision(6)));
}
