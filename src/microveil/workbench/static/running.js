// What runs, and pages that follow what happens: the server tells of every change, and the page fetches itself anew.

const body = document.body;
let version = body.dataset.version;
let enhance = () => {};

const running = document.getElementById("running");
const idle = document.getElementById("idle");
const calm = [...idle.childNodes]; // what it says as long as nothing is wrong

function clock(seconds) {
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60];
  if (seconds >= 3600) parts.unshift(Math.floor(seconds / 3600));
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
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

// the answer, or nothing where there is none: the page is being left, or the workbench was ended
export async function asked(address, options) {
  try {
    return await fetch(address, options);
  } catch {
    return null;
  }
}

function send(address, fields) {
  return asked(address, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
}

export function markEdited(is = true) {
  edited = is;
}

export function listen(afterwards) {
  enhance = afterwards;
  const events = new EventSource("/events");
  events.onmessage = (message) => {
    const state = JSON.parse(message.data);
    if (idle.childNodes[0] !== calm[0]) idle.replaceChildren(...calm);
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

let edited = false; // a form was begun: what is typed must stay
let following = Promise.resolve();

const isBusy = () => edited || document.querySelector("dialog[open]") !== null;

function changed(now) {
  version = now;
  following = following.then(follow);
}

async function follow() {
  const answer = await asked(location.href);
  const text = answer?.ok ? await answer.text().catch(() => "") : "";
  if (!text) return; // the next change tries again
  const fresh = new DOMParser().parseFromString(text, "text/html");
  // a form may have been begun while the page was fetched, so it is looked only now
  if (isBusy()) showLive(fresh);
  else showAll(fresh);
}

// where a form was begun, only the parts that show what happens are replaced
function showLive(fresh) {
  const live = document.querySelectorAll("main [data-live]");
  if (!live.length) document.getElementById("changed").hidden = false;
  const around = live.length ? ["top", "aside"] : ["top"]; // marks of the map are explained at the side
  for (const old of [...around.map((name) => document.getElementById(name)), ...live]) {
    const made = fresh.getElementById(old.id);
    if (made) old.replaceChildren(...made.childNodes);
  }
}

// how a control is found again on the page that takes the place of this one
function addressOf(control) {
  if (!control || control === body) return "";
  if (control.id) return `#${CSS.escape(control.id)}`;
  const given = ["name", "value", "aria-label", "href", "data-opens", "data-explains"].filter((name) => control.hasAttribute(name));
  if (!given.length) return "";
  return control.localName + given.map((name) => `[${name}="${CSS.escape(control.getAttribute(name))}"]`).join("");
}

function showAll(fresh) {
  const focus = addressOf(document.activeElement);
  const scrolled = [...document.querySelectorAll("main .scroll")].map((one) => [addressOf(one), one.scrollLeft, one.scrollTop]);
  const open = new Set([...document.querySelectorAll("main details[open] > summary")].map((one) => one.textContent));
  for (const name of ["top", "main", "aside", "history"]) {
    const [old, made] = [document.getElementById(name), fresh.getElementById(name)];
    if (old && made) old.replaceChildren(...made.childNodes);
    else if (made) body.append(made);
  }
  for (const summary of document.querySelectorAll("main details > summary")) {
    if (open.has(summary.textContent)) summary.parentElement.open = true;
  }
  for (const [address, left, top] of scrolled) if (address) document.querySelector(address)?.scrollTo({ left, top, behavior: "instant" });
  if (focus) document.querySelector(focus)?.focus({ preventScroll: true });
  version = fresh.body.dataset.version;
  edited = false;
  enhance();
}
