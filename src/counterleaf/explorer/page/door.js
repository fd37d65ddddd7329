// A shared link keeps its state: what stands after # goes along through the door.
document.querySelector("form").action = "/" + location.hash;
