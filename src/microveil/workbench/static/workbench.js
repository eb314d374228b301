// What must move on the pages: running work, explanations, forms that are checked while one types, keys and dialogs.
// A page is complete without it except for sending files, previews, trees and progress.

import { enhanceForms } from "./forms.js";
import { enhanceTree } from "./hierarchy.js";
import { listen } from "./running.js";

const body = document.body;

// --- explanations ------------------------------------------------------------------------------------------------

function explain(target) {
  const about = target.closest?.("[data-explains]");
  const found = about && document.getElementById(`explained-${about.dataset.explains}`);
  if (!found) return;
  for (const one of document.querySelectorAll(".explained")) one.hidden = one !== found;
}

addEventListener("focusin", (event) => explain(event.target));
addEventListener("pointerover", (event) => explain(event.target));

function fold(folded) {
  body.classList.toggle("folded", folded);
  const button = document.getElementById("fold");
  button.setAttribute("aria-expanded", String(!folded));
  button.textContent = folded ? "‹ Explain" : "Fold ›";
  localStorage.setItem("folded", folded ? "yes" : "");
}

// --- clicks and keys ---------------------------------------------------------------------------------------------

addEventListener("click", (event) => {
  const button = event.target.closest?.("button");
  if (!button) return;
  if (button.dataset.opens) document.getElementById(button.dataset.opens).showModal();
  if (button.dataset.copies) {
    const text = document.getElementById(button.dataset.copies).textContent;
    navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; });
  }
  if ("reload" in button.dataset) location.reload();
  if (button.id === "fold") fold(!body.classList.contains("folded"));
});

const screens = ["data", "risk", "try", "map", "out"];

addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea");
  const place = "12345".indexOf(event.key);
  if (event.altKey && !event.ctrlKey && place >= 0) {
    event.preventDefault();
    location.href = `/${screens[place]}`;
  } else if (!typing && event.key === "?") {
    document.getElementById("keys").showModal();
  } else if (!typing && (event.ctrlKey || event.metaKey) && ["z", "y"].includes(event.key.toLowerCase())) {
    const back = event.key.toLowerCase() === "z" && !event.shiftKey;
    const button = document.querySelector(`form[action="${back ? "/undo" : "/redo"}"] button:not(:disabled)`);
    event.preventDefault();
    button?.click();
  }
});

function enhance() {
  enhanceForms();
  enhanceTree();
  document.querySelector(".chip[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

if (localStorage.getItem("folded")) fold(true);
enhance();
listen(enhance);
body.dataset.ready = "yes"; // keys work from now on
