// The comfort of the pages: everything works without it.
"use strict";

// How long ago something was, beside its day: from how many seconds on, in units of how many.
const UNITS = [
  ["year", 2 * 31557600, 31557600], ["month", 2 * 2629800, 2629800], ["week", 2 * 604800, 604800],
  ["day", 86400, 86400], ["hour", 3600, 3600], ["minute", 0, 60],
];

function ago(moment) {
  const seconds = (new Date(moment) - Date.now()) / 1000;
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const [unit, , length] = UNITS.find(([, least]) => Math.abs(seconds) >= least);
  return words.format(Math.round(seconds / length), unit);
}

// Says to those who do not see it what has happened.
const told = document.createElement("div");
told.className = "hidden";
told.setAttribute("role", "status");

// Copies a text; throws where the browser refuses.
async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Browsers have the clipboard for secure addresses only: in a plain network this is what works.
  const area = document.createElement("textarea");
  area.className = "hidden";
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error("the browser refuses to copy");
}

function copyButton(element) {
  const text = element.dataset.copy;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.title = "Copy";
  button.setAttribute("aria-label", `Copy ${text.length > 60 ? "this" : text}`);
  button.addEventListener("click", async () => {
    let isCopied = true;
    await copy(text).catch(() => (isCopied = false));
    button.focus();
    button.classList.toggle("done", isCopied);
    told.textContent = isCopied ? "Copied" : "Not copied: the browser refuses";
    setTimeout(() => {
      button.classList.remove("done");
      told.textContent = "";
    }, 2000);
  });
  return button;
}

function all(part, selector) {
  return [...(part.matches?.(selector) ? [part] : []), ...part.querySelectorAll(selector)];
}

// Writes the heading of its column into each cell.
function label(table) {
  const names = [...table.tHead.rows[0].cells].map((it) => it.ariaLabel ?? it.textContent.replace(/[↑↓]/, "").trim());
  for (const row of table.tBodies[0].rows) {
    let column = 0;
    for (const cell of row.cells) {
      if (cell.tagName === "TD") cell.dataset.label = names[column];
      column += cell.colSpan;
    }
  }
}

// Where its columns do not fit, each row of a table is a card. Where they do, its head can stay in sight.
function fit() {
  for (const box of document.querySelectorAll(".table")) {
    const table = box.querySelector("table");
    const canBeCards = !box.matches(".places, :has(.matrix)");
    box.classList.remove("cards");
    const isTight = box.scrollWidth > box.clientWidth || (innerWidth < 640 && table.rows[0].cells.length > 3);
    box.classList.toggle("cards", isTight && canBeCards);
    box.classList.toggle("fits", !isTight);
    if (isTight && canBeCards) label(table);
  }
}

function dress(part) {
  fit();
  for (const time of all(part, "time:not([data-ago])")) {
    time.dataset.ago = ago(time.dateTime);
  }
  for (const element of all(part, "[data-copy]")) {
    if (!element.querySelector(":scope > .copy")) element.append(copyButton(element));
  }
}

// "/" leads to the search, as long as nobody is writing.
function toSearch(event) {
  const isWriting = event.target.closest("input, select, textarea, [contenteditable]");
  if (event.key !== "/" || isWriting || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.querySelector(".search input").focus();
}

// Suggests what is meant while somebody writes: the combobox of the ARIA Authoring Practices.
const SUGGEST = `query Suggest($text: String!, $ref: String) {
  suggest(text: $text, ref: $ref) { kind value detail url }
}`;

// An exported site has no server to ask: its index is loaded when somebody first writes.
let loading;
function loaded(index) {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = index;
    script.onload = () => resolve(globalThis.searchIndex);
    script.onerror = reject;
    document.head.append(script);
  });
  return loading;
}

// What is called so comes first, then what begins so, has such a word, or such a part.
function rank(name, part) {
  const at = name.indexOf(part);
  if (name === part || at < 0) return at < 0 ? Infinity : 0;
  return at === 0 ? 1 : /\W/.test(name[at - 1]) ? 2 : 3;
}

async function lookUp(index, text) {
  const part = text.trim().toLowerCase().replace(/^\//, "");
  return (await loaded(index))
    .map((row) => [rank(row[1].toLowerCase(), part), row])
    .filter(([place]) => place < Infinity)
    .sort(([one], [other]) => one - other)
    .slice(0, 10)
    .map(([, [kind, value, detail, url]]) => ({ kind, value, detail, url: `/${url}` }));
}

function suggesting(box, number) {
  const form = box.form;
  const { index } = form.dataset;
  const root = new URL(".", new URL(index ?? form.action, document.baseURI));
  if (index) form.hidden = false;
  const list = document.createElement("ul");
  list.id = `suggestions-${number}`;
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  form.append(list);
  const note = Object.assign(document.createElement("p"), { className: "none" });
  if (index) form.append(note);
  for (const [name, value] of [
    ["role", "combobox"], ["aria-autocomplete", "list"], ["aria-expanded", "false"],
    ["aria-controls", list.id],
  ]) box.setAttribute(name, value);
  let active = -1;
  let timer;
  let request;

  function choose(place) {
    list.children[active]?.setAttribute("aria-selected", "false");
    active = place;
    const option = list.children[active];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) box.setAttribute("aria-activedescendant", option.id);
    else box.removeAttribute("aria-activedescendant");
  }

  function show(suggestions) {
    choose(-1);
    list.replaceChildren(...suggestions.map((suggestion, place) => {
      const option = document.createElement("li");
      option.id = `${list.id}-${place}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.url = suggestion.url;
      for (const [tag, text] of [
        ["span", suggestion.value],
        ["small", `${suggestion.kind.toLowerCase()}, ${suggestion.detail}`],
      ]) option.append(Object.assign(document.createElement(tag), { textContent: text }), " ");
      return option;
    }));
    list.hidden = !suggestions.length;
    box.setAttribute("aria-expanded", String(!list.hidden));
  }

  function close() {
    clearTimeout(timer);
    note.textContent = "";
    request?.abort();
    show([]);
  }

  async function ask() {
    request?.abort();
    request = new AbortController();
    const { signal } = request;
    const ref = form.elements.in?.value;
    const variables = JSON.stringify({ text: box.value, ref });
    const url = new URL("graphql", form.action);
    url.search = new URLSearchParams({ query: SUGGEST, variables });
    async function answered() {
      if (index) return lookUp(index, box.value);
      const answer = await fetch(url, { signal, headers: { accept: "application/json" } });
      return (await answer.json()).data?.suggest ?? [];
    }
    try {
      const suggestions = await answered();
      if (signal.aborted) return;
      show(suggestions);
      const count = suggestions.length;
      told.textContent = `${count || "No"} ${count === 1 ? "suggestion" : "suggestions"}`;
      note.textContent = count ? "" : `Nothing here has this name. ${globalThis.searchLeftOut ?? ""}`;
    } catch {
      if (!signal.aborted) show([]); // the search works without
    }
  }

  function open(option) {
    location.assign(new URL(option.dataset.url.slice(1), root));
  }

  box.addEventListener("input", () => {
    clearTimeout(timer);
    if (box.value.trim()) timer = setTimeout(ask, 120);
    else close();
  });
  box.addEventListener("keydown", (event) => {
    const count = list.children.length;
    if (event.key === "ArrowDown" && !count && box.value.trim()) ask();
    else if (event.key === "ArrowDown" && count) choose(active + 1 < count ? active + 1 : -1);
    else if (event.key === "ArrowUp" && count) choose(active < 0 ? count - 1 : active - 1);
    else if (event.key === "Escape" && count) close();
    else if (event.key === "Enter" && active >= 0) open(list.children[active]);
    else return;
    event.preventDefault();
  });
  box.addEventListener("blur", close);
  if (index) {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!list.children.length) await ask();
      if (list.children.length) open(list.children[0]);
    });
  }
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the box keeps the focus
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) open(option);
  });
}

document.querySelectorAll(".search input[name=q]").forEach(suggesting);
document.body.append(told);
dress(document);
document.addEventListener("htmx:load", (event) => dress(event.detail.elt));
document.addEventListener("keydown", toSearch);
document.addEventListener("toggle", fit, true);
addEventListener("resize", fit);
