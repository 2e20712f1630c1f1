// Copies what a link leads to: the Markdown of release notes.
"use strict";

async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Without HTTPS there is no clipboard but that of the document.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error("the browser refuses to copy");
}

function offerCopy(button) {
  const status = button.parentElement.querySelector(".status");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      const response = await fetch(button.dataset.copyFrom);
      if (!response.ok) throw new Error(`the server answers ${response.status}`);
      await copyText(await response.text());
      status.textContent = "Copied.";
    } catch (error) {
      status.textContent = `Not copied: ${error.message}`;
    }
  });
}

document.querySelectorAll("[data-copy-from]").forEach(offerCopy);
