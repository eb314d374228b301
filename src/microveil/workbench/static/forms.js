// Forms that are checked while one types, with a look at what they would do; rows that are changed together; files that
// are sent.

import { asked, markEdited } from "./running.js";

const CHECKED_AFTER = 200; // milliseconds without another key
const SHOWN_AFTER = 500;
const SLOW_AGAIN = 5000;
let checks = 0;
let looks = 0;

function fieldsOf(form, names) {
  return new URLSearchParams([...new FormData(form)].filter(([name]) => names.includes(name) || name.startsWith("set:")));
}

// --- the form of a method ------------------------------------------------------------------------------------------

async function check(form) {
  const mine = ++checks;
  const answer = await asked("/validate", { method: "POST", body: fieldsOf(form, ["method", "attribute"]) });
  const found = answer?.ok ? await answer.json().catch(() => null) : null;
  if (!found || mine !== checks) return false;
  for (const control of form.elements) if (control.name?.startsWith("set:")) control.removeAttribute("aria-invalid");
  for (const told of form.querySelectorAll("p.wrong")) told.hidden = true;
  document.getElementById("run").disabled = !found.ok;
  for (const name of ["python", "shell"]) {
    const shown = document.getElementById(name);
    if (found.ok && shown) shown.textContent = found[name];
  }
  if (found.ok) return true;
  const told = document.getElementById(found.field ? `wrong-${found.field}` : "wrong-form");
  document.getElementById(`set-${found.field}`)?.setAttribute("aria-invalid", "true");
  if (told) Object.assign(told, { textContent: found.sentence, hidden: false });
  return false;
}

async function look(form) {
  const effect = document.getElementById("effect");
  const mine = ++looks;
  effect.setAttribute("aria-busy", "true");
  const answer = await asked("/preview", { method: "POST", body: fieldsOf(form, ["method", "attribute"]) });
  const text = await answer?.text().catch(() => "");
  if (mine !== looks || !effect.isConnected) return;
  effect.removeAttribute("aria-busy");
  if (!text) return;
  const made = new DOMParser().parseFromString(text, "text/html");
  if (answer.ok) effect.replaceChildren(...made.body.childNodes);
  else effect.textContent = text;
  if (effect.querySelector("[data-slow]")) setTimeout(() => { if (mine === looks) look(form); }, SLOW_AGAIN);
}

function watchStep(form) {
  let checking, looking;
  const soon = () => {
    clearTimeout(checking);
    clearTimeout(looking);
    checking = setTimeout(async () => {
      if (await check(form)) looking = setTimeout(() => look(form), SHOWN_AFTER);
    }, CHECKED_AFTER);
  };
  form.addEventListener("input", (event) => {
    markEdited();
    if (event.target.name?.startsWith("set:") || event.target.name === "attribute") soon();
  });
  look(form);
}

// --- the table of attributes ---------------------------------------------------------------------------------------

function watchSchema(form) {
  const before = new Map([...form.querySelectorAll("tbody select")].map((one) => [one, one.value]));
  const button = document.getElementById("apply");
  const told = button.textContent;
  const count = () => {
    let many = 0;
    for (const [one, value] of before) {
      one.classList.toggle("changed", one.value !== value);
      many += one.value !== value;
    }
    markEdited(many > 0);
    button.disabled = !many;
    button.textContent = many ? `${told} (${many} changed)` : told;
  };
  const ticked = () => [...form.querySelectorAll(".tick:checked")].map((box) => box.closest("tr")).filter((row) => !row.hidden);
  const all = (beginning, value) => {
    for (const row of ticked()) {
      const select = row.querySelector(`select[name^="${beginning}:"]`);
      if (select && [...select.options].some((option) => option.value === value)) select.value = value;
    }
    count();
  };
  form.addEventListener("change", (event) => {
    const { id, value, checked } = event.target;
    if (id === "tick-all") for (const box of form.querySelectorAll("tr:not([hidden]) .tick")) box.checked = checked;
    if (id === "bulk-kind" && value) all("kind", value);
    if (id === "bulk-role" && value !== "-") all("role", value);
    count();
  });
  document.getElementById("narrow")?.addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    for (const row of form.querySelectorAll("tbody tr")) row.hidden = !row.querySelector("th").textContent.toLowerCase().includes(wanted);
  });
  form.addEventListener("keydown", (event) => { if (event.key === "Enter" && event.target.id === "narrow") event.preventDefault(); });
  count();
}

// --- files -----------------------------------------------------------------------------------------------------------

function watchUpload(form) {
  const drop = form.querySelector(".drop");
  const bar = form.querySelector("progress");
  const wrong = form.querySelector("p.wrong");
  const upload = (file) => {
    wrong.hidden = true;
    bar.hidden = false;
    const request = new XMLHttpRequest();
    request.open("PUT", `/upload?name=${encodeURIComponent(file.name)}&as=${form.dataset.as}`);
    request.upload.onprogress = (event) => { if (event.lengthComputable) bar.value = event.loaded / event.total; };
    request.onloadend = () => {
      bar.hidden = true;
      if (request.status !== 200) Object.assign(wrong, { textContent: request.responseText || "The file could not be sent.", hidden: false });
    };
    request.send(file);
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector("input[type=file]").addEventListener("change", (event) => { if (event.target.files[0]) upload(event.target.files[0]); });
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files[0]) upload(event.dataTransfer.files[0]);
  });
}

export function enhanceForms() {
  for (const [name, watch] of [["step", watchStep], ["schema", watchSchema]]) {
    const form = document.getElementById(name);
    if (form) watch(form);
  }
  for (const form of document.querySelectorAll("form.upload")) watchUpload(form);
  for (const form of document.querySelectorAll("main form:not(#schema, #step, .upload)")) {
    form.addEventListener("input", () => markEdited());
  }
}
