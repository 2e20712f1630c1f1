// What is loaded from another page keeps leading where its links lead there: they are relative.
"use strict";

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  for (const link of detail.target.querySelectorAll("a[href]")) {
    link.href = new URL(link.getAttribute("href"), detail.xhr.responseURL);
  }
});
