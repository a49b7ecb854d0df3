"use strict";
const body = document.querySelector("#students tbody");
const rows = [...body.rows];
const count = document.querySelector("#count");
const inputs = [...document.querySelectorAll("#filters [data-filter]")];

function shown(row) {
  return inputs.every((input) => {
    const wanted = input.value.trim().toLowerCase();
    if (!wanted) return true;
    if (input.dataset.filter === "text") return row.textContent.toLowerCase().includes(wanted);
    if (input.dataset.filter === "below") return row.dataset.score !== "" && Number(row.dataset.score) < Number(wanted);
    return (" " + row.dataset[input.dataset.filter] + " ").includes(" " + wanted + " ");
  });
}

function filter() {
  let left = 0;
  for (const row of rows) {
    row.hidden = !shown(row);
    left += !row.hidden;
  }
  count.textContent = left + " of " + rows.length + " rows";
}

function sort(header, button) {
  const down = header.getAttribute("aria-sort") === "ascending";
  for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = button.dataset.sort;
  const value = (row) => row.dataset[key];
  const number = button.dataset.number !== undefined;
  rows.sort((one, other) => {
    const a = value(one), b = value(other);
    // What has no value stays at the end, in either order.
    if (a === "" || b === "") return (a === "") - (b === "");
    const order = number ? a - b : a.localeCompare(b);
    return down ? -order : order;
  });
  body.append(...rows);
}

for (const button of document.querySelectorAll("#students th button")) {
  button.addEventListener("click", () => sort(button.closest("th"), button));
}
for (const input of inputs) input.addEventListener("input", filter);
for (const link of document.querySelectorAll("[data-pick]")) {
  link.addEventListener("click", () => {
    const [name, value] = link.dataset.pick.split("=");
    const input = document.querySelector('#filters [data-filter="' + name + '"]');
    input.value = value;
    filter();
    document.querySelector("#students-title").scrollIntoView();
  });
}
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const code = button.parentNode.querySelector("code");
    getSelection().selectAllChildren(code);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      button.textContent = "selected";  // pages of a file may not write to the clipboard: Ctrl-C does
    }
  });
}
document.querySelector("#filters").addEventListener("submit", (event) => event.preventDefault());
filter();
