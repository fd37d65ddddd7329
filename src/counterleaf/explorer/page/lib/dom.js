// Helpers for the document: elements, inputs, downloads. No framework, no templates.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element from attributes or properties, listeners ("onclick") and children; "svg:rect" makes an SVG element. */
export function h(tag, attributes = {}, ...children) {
  const svg = tag.startsWith("svg:");
  const node = svg ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (!svg && typeof value === "boolean" && key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...present(children));
  return node;
}

const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g; // they change the direction of the text around them

/** A text in which a name from a model cannot rearrange the words around it. */
const visible = (text) => (typeof text === "string" ? text.replace(TURNS, "\ufffd") : text);

const present = (children) =>
  children.flat(2).flatMap((child) => (child === null || child === undefined || child === false ? [] : [visible(child)]));

export const byId = (id) => document.getElementById(id);

/** Replace all children; the focus moves to the new control with the same name. */
export function fill(node, ...children) {
  const focused = node.contains(document.activeElement) && document.activeElement;
  node.replaceChildren(...present(children));
  if (focused) [...node.querySelectorAll("button, input, select")].find((one) => nameOf(one) === nameOf(focused))?.focus();
}

const nameOf = (node) => node.id || node.ariaLabel || node.textContent;

export function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

/** Set the text of a node; an unchanged text costs nothing. */
export function setText(node, value) {
  const text = visible(value);
  if (node.textContent !== text) node.textContent = text;
}

/** Set the value of an input, unless the user is typing into it. */
export function setValue(input, value) {
  const text = value === null || value === undefined ? "" : String(value);
  if (!input.dataset.typing && input.value !== text) input.value = text;
}

addEventListener("input", ({ target }) => target.type === "number" && (target.dataset.typing = "yes"), true);
for (const end of ["change", "focusout"]) addEventListener(end, ({ target }) => delete target.dataset?.typing, true);

/**
 * Call `accept` with each valid number that the user types, or with `empty`, if defined, when the field is cleared.
 * The browser reports an invalid number; then the field is reset to `current()`.
 */
export function onNumber(input, accept, current, empty) {
  input.addEventListener("change", () => {
    const valid = input.value === "" ? empty !== undefined && !input.validity.badInput : input.validity.valid;
    if (valid) return accept(input.value === "" ? empty : input.valueAsNumber);
    input.reportValidity();
    setTimeout(() => setValue(input, current()), 1500);
  });
}

/** The property of an object under a feature's name, which may be "constructor" or "__proto__". */
export const lookUp = (object, name) => (object && Object.hasOwn(object, name) ? object[name] : undefined);

/** Let the browser save a text as a file. */
export function download(name, type, text) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A padlock icon, drawn because not every system font has one. */
export function padlock(closed) {
  return h(
    "svg:svg",
    { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" },
    h("svg:rect", { x: 2.5, y: 7, width: 11, height: 8, rx: 1.5, fill: "currentColor" }),
    h("svg:path", {
      d: closed ? "M5 7V4.5a3 3 0 0 1 6 0V7" : "M5 7V4.5a3 3 0 0 1 5.8 -1.2",
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 1.8,
    }),
  );
}

/** A number in full, without the digits that only reflect rounding. */
export const plainNumber = (value) => String(Number(value.toPrecision(15)));

/** A share in percent with one decimal; 0 % or 100 % only if it is that exactly. */
export function percentText(share) {
  if (share > 0 && share < 0.001) return "under 0.1 %";
  if (share > 0.999 && share < 1) return "over 99.9 %";
  return `${Number((100 * share).toFixed(1)).toLocaleString("en")} %`;
}

/** Mark what belongs to an earlier question; what belongs to another row is hidden. */
export function markBusy(node, busy, otherRow = false) {
  node.setAttribute("aria-busy", String(busy));
  node.classList.toggle("of-other-row", Boolean(busy && otherRow));
}
