// Sorting and filtering of tables. Without it the tables stand in their own order and nothing is missing.
function startTables() {
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (head.classList.contains("still")) return;
      const button = document.createElement("button");
      button.type = "button";
      const arrow = document.createElement("span");
      arrow.className = "arrow"; arrow.setAttribute("aria-hidden", "true");
      button.append(...head.childNodes);
      head.classList.contains("n") ? button.prepend(arrow) : button.insertBefore(arrow, button.querySelector("small"));
      head.append(button);
      button.addEventListener("click", () => {
        const numbers = head.classList.contains("n");
        const next = head.getAttribute("aria-sort") === (numbers ? "descending" : "ascending") ? (numbers ? "ascending" : "descending") : (numbers ? "descending" : "ascending");
        heads.forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1;
        const key = row => { const cell = row.cells[column]; return numbers ? parseFloat(cell.dataset.sort ?? cell.textContent.replaceAll(",", "")) : cell.textContent.trim(); };
        for (const body of table.tBodies) {
          const rows = [...body.rows].filter(row => !row.classList.contains("group"));
          rows.sort((one, other) => {
            const a = key(one), b = key(other);
            if (!numbers) return sign * a.localeCompare(b);
            return Number.isNaN(a) || Number.isNaN(b) ? Number.isNaN(a) - Number.isNaN(b) : sign * (a - b); // what is not a number goes last
          });
          body.append(...rows);
        }
      });
    });
  }
  for (const table of document.querySelectorAll("table.filtered")) {
    if (table.tBodies[0].rows.length < 12) continue;
    const label = document.createElement("label"), input = document.createElement("input"), told = document.createElement("span");
    label.className = "filter"; input.type = "search"; told.setAttribute("role", "status");
    label.append("Show rows with", input, told);
    table.closest(".scroll").before(label);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const cells = [...row.cells].map(cell => cell.textContent.trim().toLowerCase());
        row.hidden = !words.every(word => cells.some(cell => cell.includes(word)));
        shown += !row.hidden;
      }
      told.textContent = words.length ? `${shown} of ${table.tBodies[0].rows.length}` : "";
    });
  }
  // A table that is wider than its place says that it goes on.
  for (const place of document.querySelectorAll(".scroll")) {
    const note = document.createElement("p");
    note.className = "more"; note.textContent = "Scroll sideways for the rest →"; note.hidden = true; note.setAttribute("aria-hidden", "true");
    place.before(note);
    const look = () => {
      const wide = place.scrollWidth > place.clientWidth + 1;
      note.hidden = !wide;
      place.classList.toggle("scrolls", wide);
      place.classList.toggle("at-end", place.scrollLeft + place.clientWidth >= place.scrollWidth - 2);
    };
    place.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(() => requestAnimationFrame(look)).observe(place); // the note moves what is observed: not in the same frame
  }
  for (const event of ["beforeprint"]) addEventListener(event, () => document.querySelectorAll("details").forEach(part => { if (part.querySelector("table")) part.open = true; }));
}
document.addEventListener("DOMContentLoaded", startTables);
