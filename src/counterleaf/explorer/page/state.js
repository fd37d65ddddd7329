// What is asked, as one plain value; it lives in the address, so that it can be bookmarked and shared.

import { own } from "./dom.js";

/** The question with which a scene opens. */
export function opening(scene) {
  return {
    scene: scene.key,
    row: scene.row,
    edits: {},
    controls: Object.fromEntries(scene.locked.map((name) => [name, { lock: true }])),
    target: scene.target,
    cost: scene.shape ? "L2" : "L1",
    spread: scene.spreads[0],
    margin: 0,
    count: 3,
    most: null,
    ink: "any",
    locked: [],
  };
}

const FREE = { lock: false, way: "any", low: null, high: null, allowed: null, step: null, weight: 1 };

/** What is said about a feature. */
export const control = (state, name) => ({ ...FREE, ...own(state.controls, name) });

/** The state with something said anew about a feature; what says nothing is left out. */
export function withControl(state, name, patch) {
  const said = Object.entries({ ...control(state, name), ...patch }).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(FREE[key]),
  );
  const { [name]: _, ...rest } = state.controls;
  return { ...state, controls: said.length ? { ...rest, [name]: Object.fromEntries(said) } : rest };
}

export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The whole state as the part of the address after #. */
export function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#s=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const isNumberOrNull = (value) => value === null || isNumber(value);
const areNumbers = (value) => Array.isArray(value) && value.every(isNumber);
const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const every = (value, sound) => isPlain(value) && Object.values(value).every(sound);

const SAID = {
  lock: (value) => typeof value === "boolean",
  way: (value) => typeof value === "string",
  low: isNumberOrNull,
  high: isNumberOrNull,
  allowed: (value) => value === null || areNumbers(value),
  step: isNumberOrNull,
  weight: isNumber,
};

const SOUND = {
  scene: (value) => typeof value === "string",
  row: isNumber,
  edits: (value) => every(value, isNumberOrNull),
  controls: (value) => every(value, (said) => isPlain(said) && Object.entries(said).every(([key, part]) => SAID[key]?.(part))),
  target: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  cost: (value) => typeof value === "string",
  spread: (value) => typeof value === "string",
  margin: isNumber,
  count: isNumber,
  most: isNumberOrNull,
  ink: (value) => typeof value === "string",
  locked: areNumbers,
};

/** Whether something that came from outside is a state; what it says is for the server to judge. */
export const isState = (given) => isPlain(given) && Object.entries(SOUND).every(([key, sound]) => sound(given[key]));

/** The state that an address holds, or null where it holds none; `scenes` are those that there are. */
export function decode(hash, scenes) {
  if (!hash.startsWith("#s=")) return null;
  try {
    const text = atob(hash.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const said = JSON.parse(new TextDecoder().decode(bytes));
    const scene = scenes.find((one) => one.key === said.scene);
    if (!scene) return null;
    const first = opening(scene);
    const state = Object.fromEntries(
      Object.entries(first).map(([key, value]) => [key, Object.hasOwn(said, key) ? said[key] : value]),
    );
    return isState(state) ? state : null;
  } catch {
    return null;
  }
}
