// A file that is dropped on the text becomes the file of the form.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const text = document.querySelector("textarea[data-drop]");
  const file = document.getElementById(text?.dataset.drop);
  if (!file) return;
  for (const name of ["dragenter", "dragover"]) {
    text.addEventListener(name, (event) => {
      if (event.dataTransfer.types.includes("Files")) event.preventDefault();
    });
  }
  text.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    file.files = event.dataTransfer.files;
    file.focus();
  });
});
