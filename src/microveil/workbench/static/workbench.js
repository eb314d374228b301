// What must move on the pages: running work, explanations, forms that are checked while one types, keys and dialogs.
// A page is complete without it except for sending files and progress.

const body = document.body;
let version = body.dataset.version;

// --- running work ------------------------------------------------------------------------------------------------

const running = document.getElementById("running");
const idle = document.getElementById("idle");

function clock(seconds) {
  const minutes = Math.floor(seconds / 60);
  return `${String(minutes).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}`;
}

function element(name, text, properties = {}) {
  const made = Object.assign(document.createElement(name), properties);
  made.textContent = text;
  return made;
}

function line(job) {
  const made = document.createElement("li");
  made.dataset.job = job.job;
  const bar = element("progress", "", { max: 1, value: job.fraction });
  bar.setAttribute("aria-label", `Progress of ${job.title}`);
  const cancel = element("button", "Cancel", { type: "button", className: "quiet" });
  cancel.setAttribute("aria-label", `Cancel ${job.title}`);
  cancel.addEventListener("click", () => send("/cancel", { job: job.job }));
  made.append(element("span", "", { className: "title" }), bar, element("span", "", { className: "label" }), cancel);
  return made;
}

function show(jobs) {
  idle.hidden = jobs.length > 0;
  const there = new Map([...running.children].map((item) => [item.dataset.job, item]));
  for (const job of jobs) {
    const item = there.get(job.job) ?? running.appendChild(line(job));
    there.delete(job.job);
    const [title, bar, label, cancel] = item.children;
    title.textContent = job.state === "running" ? job.title : `waiting: ${job.title}`;
    bar.hidden = job.state !== "running";
    bar.value = job.fraction;
    const left = job.left === null ? "" : ` · ${clock(job.left)} left`;
    label.textContent = job.cancelled ? "being cancelled" : job.state === "running" ? `${job.label}${left}` : "";
    cancel.disabled = job.cancelled;
  }
  for (const gone of there.values()) gone.remove();
}

function send(address, fields) {
  return fetch(address, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
}

function listen() {
  const events = new EventSource("/events");
  events.onmessage = (message) => {
    const state = JSON.parse(message.data);
    show(state.jobs);
    if (state.version !== version) changed(state.version);
  };
  events.onerror = () => {
    if (events.readyState !== EventSource.CONNECTING) return;
    idle.hidden = false;
    idle.textContent = "The workbench does not answer. If it was ended, start it again and open the address that it prints.";
  };
  addEventListener("pagehide", () => events.close());
}

// --- a page that follows what happens -----------------------------------------------------------------------------

let edited = false;
let following = Promise.resolve();

function changed(now) {
  version = now;
  if (edited || document.querySelector("dialog[open]")) {
    document.getElementById("changed").hidden = false;
  } else {
    following = following.then(follow);
  }
}

async function follow() {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const focus = document.activeElement?.id;
  const open = new Set([...document.querySelectorAll("main details[open] > summary")].map((one) => one.textContent));
  for (const name of ["top", "main", "aside", "history"]) {
    const [old, made] = [document.getElementById(name), fresh.getElementById(name)];
    if (old && made) old.replaceChildren(...made.childNodes);
    else if (made) body.append(made);
  }
  for (const summary of document.querySelectorAll("main details > summary")) {
    if (open.has(summary.textContent)) summary.parentElement.open = true;
  }
  if (focus) document.getElementById(focus)?.focus();
  version = fresh.body.dataset.version;
  edited = false;
  enhance();
}

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

// --- forms -------------------------------------------------------------------------------------------------------

let asked = 0;

async function check(form) {
  const mine = ++asked;
  const fields = [...new FormData(form)].filter(([name]) => name === "method" || name.startsWith("set:"));
  const answer = await fetch("/validate", { method: "POST", body: new URLSearchParams(fields) });
  if (!answer.ok || mine !== asked) return;
  const found = await answer.json();
  for (const control of form.elements) if (control.name?.startsWith("set:")) control.removeAttribute("aria-invalid");
  for (const told of form.querySelectorAll("p.wrong")) told.hidden = true;
  document.getElementById("run").disabled = !found.ok;
  if (found.ok) return;
  const told = document.getElementById(found.field ? `wrong-${found.field}` : "wrong-form");
  document.getElementById(`set-${found.field}`)?.setAttribute("aria-invalid", "true");
  if (told) Object.assign(told, { textContent: found.sentence, hidden: false });
}

function watchStep(form) {
  let waiting;
  form.addEventListener("input", (event) => {
    edited = true;
    if (!event.target.name?.startsWith("set:")) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => check(form), 200);
  });
}

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
    edited = many > 0;
    button.disabled = !many;
    button.textContent = many ? `${told} (${many} changed)` : told;
  };
  const ticked = () => [...form.querySelectorAll(".tick:checked")].map((box) => box.closest("tr"));
  const all = (beginning, value) => {
    for (const row of ticked()) {
      const select = row.querySelector(`select[name^="${beginning}:"]`);
      if (select && [...select.options].some((option) => option.value === value)) select.value = value;
    }
    count();
  };
  form.addEventListener("change", (event) => {
    const { id, value, checked } = event.target;
    if (id === "tick-all") for (const box of form.querySelectorAll(".tick")) box.checked = checked;
    if (id === "bulk-kind" && value) all("kind", value);
    if (id === "bulk-role" && value !== "-") all("role", value);
    count();
  });
  count();
}

function watchUpload(form) {
  const drop = form.querySelector(".drop");
  const bar = form.querySelector("progress");
  const wrong = form.querySelector("p.wrong");
  const upload = (file) => {
    wrong.hidden = true;
    bar.hidden = false;
    const request = new XMLHttpRequest();
    request.open("PUT", `/upload?name=${encodeURIComponent(file.name)}`);
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
  for (const [name, watch] of [["step", watchStep], ["schema", watchSchema], ["upload", watchUpload]]) {
    const form = document.getElementById(name);
    if (form) watch(form);
  }
  document.querySelector(".chip[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

if (localStorage.getItem("folded")) fold(true);
enhance();
listen();
