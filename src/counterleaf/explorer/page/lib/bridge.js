// In a notebook the page has no server: its requests are messages to the page around its frame, which asks the kernel.

const waiting = new Map();
let last = 0;

export const isEmbedded = "embedded" in document.documentElement.dataset;

/** A replacement for `fetch`. */
export function fetchByMessage(path, { method = "GET", body = null, signal } = {}) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const id = (last += 1);
    waiting.set(id, resolve);
    signal?.addEventListener("abort", () => {
      if (!waiting.delete(id)) return;
      parent.postMessage({ cancel: id }, "*");
      reject(signal.reason);
    });
    parent.postMessage({ id, method, path, body }, "*"); // the frame does not know the origin of the notebook
  });
}

if (isEmbedded)
  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    if (data.theme) document.documentElement.style.colorScheme = data.theme;
    waiting.get(data.id)?.(new Response(data.body, { status: data.status }));
    waiting.delete(data.id);
  });
