// The server's words: JSON out, JSON in, one line where something is wrong.

async function call(path, options) {
  let reply;
  try {
    reply = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The explorer does not answer: is the command still running?");
  }
  const body = await reply.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return {};
  });
  if (reply.status === 401) location.reload(); // another server: its door asks for its token
  if (!reply.ok) throw new Error(body.error ?? `The explorer answered ${reply.status}.`);
  return body;
}

export const get = (path) => call(path, {});

export const post = (path, body, signal) =>
  call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
