// A hierarchy as a tree: the text of the form is what counts, and the tree is drawn from it. A node is moved into a
// group of the next level by dragging it there, or by the two fields below.

import { markEdited } from "./running.js";

// one line a category, its groups from the narrowest to the widest; a cell in quotes may hold commas
function parsed(text) {
  return text.split("\n").filter((line) => line.trim()).map((line) => {
    const cells = [];
    let cell = "", quoted = false;
    for (let i = 0; i < line.length; i++) {
      const c = line[i];
      if (quoted && c === '"' && line[i + 1] === '"') { cell += c; i++; }
      else if (c === '"') quoted = !quoted;
      else if (c === "," && !quoted) { cells.push(cell.trim()); cell = ""; }
      else cell += c;
    }
    return [...cells, cell.trim()];
  });
}

function written(rows) {
  const cell = (text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => row.map(cell).join(",")).join("\n");
}

export function moved(rows, level, name, group) {
  const model = rows.find((row) => row[level + 1] === group);
  return rows.map((row) => {
    if (row[level] !== name) return row;
    return [...row.slice(0, level + 1), group, ...(model ?? row).slice(level + 2)];
  });
}

export function enhanceTree() {
  const place = document.getElementById("tree");
  const text = document.getElementById("say-hierarchy");
  if (!place || !text) return;
  const tree = place.querySelector("[role=tree]");
  const [what, to, groups] = ["move-what", "move-to", "groups"].map((id) => document.getElementById(id));
  const opened = new Set();
  let dragged = null;

  const change = (level, name, group) => {
    const rows = parsed(text.value);
    if (!group || level + 1 >= rows[0].length) return;
    text.value = written(moved(rows, level, name, group));
    markEdited();
    draw();
  };

  const branch = (rows, level) => {
    const made = document.createDocumentFragment();
    for (const name of new Set(rows.map((row) => row[level]))) {
      const item = document.createElement("li");
      const inner = rows.filter((row) => row[level] === name);
      const key = `${level}:${name}`;
      item.setAttribute("role", "treeitem");
      item.tabIndex = 0;
      item.draggable = true;
      item.setAttribute("aria-label", level ? `${name}, ${inner.length} categories` : name);
      const label = document.createElement("span");
      label.textContent = level ? `${name} (${inner.length})` : name;
      item.append(label);
      item.addEventListener("dragstart", (event) => { dragged = [level, name]; event.dataTransfer.setData("text/plain", name); event.stopPropagation(); });
      if (level > 0) {
        const list = document.createElement("ul");
        list.setAttribute("role", "group");
        list.append(branch(inner, level - 1));
        const show = (is) => { list.hidden = !is; item.setAttribute("aria-expanded", String(is)); is ? opened.add(key) : opened.delete(key); };
        show(opened.has(key) || level === rows[0].length - 1);
        label.addEventListener("click", () => show(list.hidden));
        item.addEventListener("keydown", (event) => {
          if (event.target !== item) return;
          if (event.key === "ArrowRight") show(true);
          if (event.key === "ArrowLeft") show(false);
          if (event.key === "Enter" || event.key === " ") { event.preventDefault(); show(list.hidden); }
        });
        item.addEventListener("dragover", (event) => { if (dragged && dragged[0] === level - 1) { event.preventDefault(); event.stopPropagation(); item.classList.add("over"); } });
        item.addEventListener("dragleave", () => item.classList.remove("over"));
        item.addEventListener("drop", (event) => { if (dragged && dragged[0] === level - 1) { event.preventDefault(); event.stopPropagation(); change(...dragged, name); } });
        item.append(list);
      }
      made.append(item);
    }
    return made;
  };

  const draw = () => {
    const rows = parsed(text.value);
    const levels = rows.length ? rows[0].length : 0;
    place.hidden = !levels || rows.some((row) => row.length !== levels);
    if (place.hidden) return;
    tree.replaceChildren(branch(rows, levels - 1));
    const options = [];
    for (let level = 0; level + 1 < levels; level++) {
      for (const name of new Set(rows.map((row) => row[level]))) options.push(new Option(level ? `${name} (group)` : name, JSON.stringify([level, name])));
    }
    what.replaceChildren(...options);
    offer();
  };

  const offer = () => {
    const rows = parsed(text.value);
    const level = what.value ? JSON.parse(what.value)[0] : 0;
    groups.replaceChildren(...[...new Set(rows.map((row) => row[level + 1]))].map((name) => new Option(name, name)));
  };

  what.addEventListener("change", offer);
  document.getElementById("move").addEventListener("click", () => { if (what.value) change(...JSON.parse(what.value), to.value.trim()); });
  to.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); document.getElementById("move").click(); } });
  text.addEventListener("input", () => { markEdited(); draw(); });
  draw();
}
