// The form for the token. It accepts a whole link, and keeps the fragment of the address, which contains the question.
const form = document.querySelector("form");
const field = form.elements.token;
form.action = "/" + location.hash;
form.addEventListener("submit", () => (field.value = /token=([^&#\s]+)/.exec(field.value)?.[1] ?? field.value.trim()));
if (new URLSearchParams(location.search).has("token")) document.getElementById("invalid").hidden = false;
