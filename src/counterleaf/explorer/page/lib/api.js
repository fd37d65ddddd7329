// Requests to the server; an error response becomes an Error with its message.

import { fetchByMessage, isEmbedded } from "./bridge.js";

const request = isEmbedded ? fetchByMessage : fetch;

async function call(path, options) {
  let reply;
  try {
    reply = await request(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The explorer does not respond. Is the command still running?");
  }
  const body = await reply.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (reply.status === 401) location.reload(); // the server was restarted: show its form for the token
  if (!reply.ok) throw new Error(body.error ?? `The explorer responded with status ${reply.status}.`);
  return body;
}

export const get = (path) => call(path, {});

export const post = (path, body, signal) =>
  call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
