// What must move on the pages: running work, explanations, forms that are checked while one types, keys and dialogs.
// A page is complete without it except for sending files, previews, trees and progress.

import { enhanceForms } from "./forms.js";
import { enhanceTree } from "./hierarchy.js";
import { listen } from "./running.js";

const body = document.body;

// --- explanations ------------------------------------------------------------------------------------------------

function explain(target) {
  const mark = markOf(target);
  const about = target.closest?.("[data-explains]");
  const key = mark ? `mark-${nameOf(mark)}` : about?.dataset.explains;
  const found = key && document.getElementById(`explained-${key}`);
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

// --- the map ---------------------------------------------------------------------------------------------------

const markOf = (target) => target.closest?.(".map svg a");
const nameOf = (mark) => new URL(mark.href.baseVal, location.href).searchParams.get("with");

// where several marks lie on each other, each click chooses the next one
function choose(event) {
  const under = document.elementsFromPoint(event.clientX, event.clientY).map(markOf).filter(Boolean);
  const marks = [...new Set(under)];
  if (event.detail === 0 || marks.length < 2) return; // by keyboard each has its own place
  const chosen = new URL(location.href).searchParams.get("with");
  const at = marks.findIndex((mark) => nameOf(mark) === chosen);
  event.preventDefault();
  location.href = marks[(at + 1) % marks.length].href.baseVal;
}

addEventListener("click", (event) => { if (markOf(event.target)) choose(event); });

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
