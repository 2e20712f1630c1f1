// Parts of other pages that are loaded into this one: their addresses are relative to those pages.
"use strict";

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  // Nothing around the content is taken: its pictures would be looked for in the wrong place.
  detail.serverResponse = detail.serverResponse.replace(/^[^]*?(?=<main\b)|(?<=<\/main>)[^]*$/g, "");
});

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  for (const link of detail.target.querySelectorAll("a[href]")) {
    link.href = new URL(link.getAttribute("href"), detail.xhr.responseURL);
  }
});
