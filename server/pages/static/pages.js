// The comfort of the pages: everything works without it.
"use strict";

// How long ago something was, beside its day.
const UNITS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600]];

function ago(moment) {
  const seconds = (new Date(moment) - Date.now()) / 1000;
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const [unit, length] = UNITS.find(([, it]) => Math.abs(seconds) >= it) ?? ["minute", 60];
  return words.format(Math.round(seconds / length), unit);
}

function dress(part) {
  for (const time of part.querySelectorAll("time:not([data-ago])")) {
    time.dataset.ago = ago(time.dateTime);
  }
}

document.addEventListener("DOMContentLoaded", () => dress(document));
document.addEventListener("htmx:load", (event) => dress(event.detail.elt));
