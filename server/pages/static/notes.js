// Copies what a link leads to: the Markdown of release notes.
"use strict";

function offerCopy(button) {
  const status = button.parentElement.querySelector(".status");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      const response = await fetch(button.dataset.copyFrom);
      if (!response.ok) throw new Error(`the server answers ${response.status}`);
      await copy(await response.text()); // of pages.js
      status.textContent = "Copied.";
    } catch (error) {
      status.textContent = `Not copied: ${error.message}`;
    }
  });
}

document.querySelectorAll("[data-copy-from]").forEach(offerCopy);
