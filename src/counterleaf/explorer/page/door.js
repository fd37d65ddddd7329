// A shared link keeps its state: what stands after # goes along through the door. A whole link will do for its token.
const form = document.querySelector("form");
const field = form.elements.token;
form.action = "/" + location.hash;
form.addEventListener("submit", () => (field.value = /token=([^&#\s]+)/.exec(field.value)?.[1] ?? field.value.trim()));
if (new URLSearchParams(location.search).has("token")) document.getElementById("wrong").hidden = false;
