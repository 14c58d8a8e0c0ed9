"use strict";

// Lets the cells of the pictures in `root` tell their facts in `panel`, a <dl>, while the mouse is over them or they have the focus, and marks
// the cells of all these pictures that share the chosen fact, the checked <input name="fact">.
function linkPictures(root, panel) {
  const pictures = [...root.querySelectorAll("svg")].filter(svg => svg.querySelector("g[data-columns]"));
  const factsOf = new Map();
  const cellsWith = new Map();
  let current = null;
  let same = [];

  function keys(name, values) {
    return values.split(", ").flatMap(value => {
      const range = /^(\d+)\.\.(\d+)$/.exec(value);
      if (!range) return [name + ": " + value];
      const [first, last] = [Number(range[1]), Number(range[2])];
      return Array.from({ length: last - first + 1 }, (_, i) => name + ": " + (first + i));
    });
  }

  function read(cell) {
    const title = cell.querySelector("title");
    const lines = title ? title.textContent.split("\n").filter(line => line) : [];
    const facts = lines.map(line => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]);
    factsOf.set(cell, facts);
    for (const key of facts.flatMap(([name, values]) => keys(name, values))) {
      if (!cellsWith.has(key)) cellsWith.set(key, []);
      cellsWith.get(key).push(cell);
    }
    cell.tabIndex = -1;
    cell.setAttribute("role", "img");
  }

  function show(cell) {
    if (current) current.classList.remove("current");
    for (const other of same) other.classList.remove("same");
    current = cell;
    current.classList.add("current");
    panel.replaceChildren();
    for (const [name, values] of factsOf.get(cell)) {
      const term = document.createElement("dt");
      const definition = document.createElement("dd");
      term.textContent = name;
      definition.textContent = values;
      panel.append(term, definition);
    }
    const chosen = document.querySelector("input[name=fact]:checked");
    const facts = factsOf.get(cell).filter(([name]) => chosen && name === chosen.value);
    same = facts.flatMap(([name, values]) => keys(name, values)).flatMap(key => cellsWith.get(key));
    for (const other of same) other.classList.add("same");
    for (const picture of pictures) picture.classList.toggle("picked", same.length > 0);
  }

  function move(event) {
    const cell = cellOf(event);
    if (!cell) return;
    const columns = Number(cell.parentNode.dataset.columns);
    const all = [...cell.parentNode.children];
    const at = all.indexOf(cell);
    const column = at % columns;
    const steps = {
      ArrowLeft: column > 0 ? -1 : 0, ArrowRight: column < columns - 1 ? 1 : 0, ArrowUp: -columns, ArrowDown: columns,
    };
    const next = all[at + steps[event.key]];
    if (!next) return;
    event.preventDefault();
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  function cellOf(event) {
    return event.target.closest("g[data-columns] > g");
  }

  for (const picture of pictures) {
    for (const group of picture.querySelectorAll("g[data-columns]")) {
      [...group.children].forEach(read);
      group.children[0].tabIndex = 0;
    }
    for (const kind of ["mouseover", "focusin"]) {
      picture.addEventListener(kind, event => { if (cellOf(event)) show(cellOf(event)); });
    }
    picture.addEventListener("keydown", move);
  }
  for (const choice of document.querySelectorAll("input[name=fact]")) {
    choice.addEventListener("change", () => { if (current) show(current); });
  }
}
