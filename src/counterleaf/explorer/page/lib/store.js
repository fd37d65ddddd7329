// The browser's stores, or memory where the page may not use them, such as in a notebook's frame.

function open(kind) {
  try {
    window[kind].getItem("");
    return window[kind];
  } catch {
    const values = new Map();
    return {
      getItem: (name) => values.get(name) ?? null,
      setItem: (name, text) => values.set(name, text),
      removeItem: (name) => values.delete(name),
    };
  }
}

/** Shared by all tabs of this browser. */
export const shared = open("localStorage");

/** Of this tab; it survives a reload. */
export const ofTab = open("sessionStorage");

/** The stored JSON of a name, or `fallback` if there is none of the same type. */
export function read(store, name, fallback) {
  try {
    const value = JSON.parse(store.getItem(name));
    return typeof value === "object" && value !== null && Array.isArray(value) === Array.isArray(fallback) ? value : fallback;
  } catch {
    return fallback;
  }
}

/** Store a value as JSON. If the store is full, the value lasts until the next reload. */
export function write(store, name, value) {
  try {
    store.setItem(name, JSON.stringify(value));
  } catch {
    store.removeItem(name);
  }
}
