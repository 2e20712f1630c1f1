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

function dress(part) {
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

document.body.append(told);
dress(document);
document.addEventListener("htmx:load", (event) => dress(event.detail.elt));
document.addEventListener("keydown", toSearch);
