// The question as one plain value, which the address contains, so that it can be bookmarked and shared.

import { lookUp } from "./dom.js";

/** The initial question of a data set. */
export function initialState(scene) {
  return {
    scene: scene.key,
    row: scene.first_row,
    edits: {},
    controls: Object.fromEntries(scene.locked_features.map((name) => [name, { lock: true }])),
    target: scene.target,
    at_least: null,
    at_most: null,
    cost: scene.shape ? "L2" : "L1",
    spread: scene.spreads[0],
    margin: 0,
    count: 3,
    max_changes: null,
    ink: "any",
    locked_pixels: [],
  };
}

const NO_CONTROL = { lock: false, direction: "any", low: null, high: null, allowed: null, step: null, multiplier: 1 };

/** The settings of a feature. */
export const controlOf = (state, name) => ({ ...NO_CONTROL, ...lookUp(state.controls, name) });

/** The state with some settings of a feature replaced; settings with their default value are omitted. */
export function withControl(state, name, patch) {
  const settings = Object.entries({ ...controlOf(state, name), ...patch }).filter(([key, value]) => !same(value, NO_CONTROL[key]));
  const { [name]: _, ...others } = state.controls;
  return { ...state, controls: settings.length ? { ...others, [name]: Object.fromEntries(settings) } : others };
}

export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** The state as the fragment of the address. */
export function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#s=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

const isString = (value) => typeof value === "string";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const isNumberOrNull = (value) => value === null || isNumber(value);
const areNumbers = (value) => Array.isArray(value) && value.every(isNumber);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const everyValue = (object, isValid) => isObject(object) && Object.values(object).every(isValid);

const CONTROL_TYPES = {
  lock: (value) => typeof value === "boolean",
  direction: isString,
  low: isNumberOrNull,
  high: isNumberOrNull,
  allowed: (value) => value === null || areNumbers(value),
  step: isNumberOrNull,
  multiplier: isNumber,
};

const isControl = (value) => isObject(value) && Object.entries(value).every(([key, part]) => CONTROL_TYPES[key]?.(part));

const STATE_TYPES = {
  scene: isString,
  row: isNumber,
  edits: (value) => everyValue(value, isNumberOrNull),
  controls: (value) => everyValue(value, isControl),
  target: (value) => Array.isArray(value) && value.every(isString),
  at_least: isNumberOrNull,
  at_most: isNumberOrNull,
  cost: isString,
  spread: isString,
  margin: isNumber,
  count: isNumber,
  max_changes: isNumberOrNull,
  ink: isString,
  locked_pixels: areNumbers,
};

/** Whether an untrusted value has the types of a state; the server validates the values. */
export const isState = (value) => isObject(value) && Object.entries(STATE_TYPES).every(([key, isValid]) => isValid(value[key]));

/** The untrusted value in the fragment of an address, or null. */
export function decode(hash) {
  if (!hash.startsWith("#s=")) return null;
  try {
    const text = atob(hash.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const value = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(value) && isString(value.scene) ? value : null;
  } catch {
    return null;
  }
}

/** The state that an untrusted value means in a data set, or null if it does not have the types of a state. */
export function complete(value, scene) {
  const defaults = Object.entries(initialState(scene));
  const state = Object.fromEntries(defaults.map(([key, fallback]) => [key, Object.hasOwn(value, key) ? value[key] : fallback]));
  return isState(state) ? state : null;
}
