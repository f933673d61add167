"use strict";
// A sheet on which people write queries for poems that they read and hid. What they write is kept in this browser where it
// lets the page do so, and goes into CSV files that are query files as they are.

if (typeof document === "undefined") Object.assign(globalThis, require("./table.js"));

// A name as a part of ids and names of files.
function slug(name) { return plain(name).replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-+|-+$/g, ""); }

// The rows of a file: every query that is written, of the registers that ask for one poem, or the themes.
function queryRows(settings, written, writer, themes) {
  const rows = [], by = slug(writer);
  settings.poems.forEach((poem, number) => {
    for (const register of settings.registers) {
      const text = plain(written[number][register] ?? "");
      if (!text || (register === settings.theme) !== themes) continue;
      const id = (by ? by + "-" : "") + poem.query_id[register];
      rows.push([id, register, text, poem.poem_id, poem.poem_id, ...[poem.title, poem.poet, poem.poem].map(escaped)]);
    }
  });
  return rows;
}

// A cell that no spreadsheet runs as a formula.
function escaped(text) { return /^'*[=+\-@\t\r]/.test(text) ? "'" + text : text; }

// The words of a text without case, marks and the spellings of one letter.
function words(text) {
  const bare = text.normalize("NFKD").replace(/[\p{M}\u0640]/gu, "").toLowerCase();
  const folded = bare.replace(/[\u0622\u0623\u0625\u0671]/g, "\u0627").replace(/\u0649/g, "\u064a").replace(/\u0629/g, "\u0647");
  return folded.match(/[\p{L}\p{N}]+/gu) ?? [];
}

// The longest run of words in a row that a query shares with a poem.
function sharedRun(query, poem) {
  const asked = words(query), text = " " + words(poem).join(" ") + " ";
  let longest = [];
  for (let first = 0; first < asked.length; first++) {
    for (let end = first + longest.length + 1; end <= asked.length; end++) {
      if (!text.includes(" " + asked.slice(first, end).join(" ") + " ")) break;
      longest = asked.slice(first, end);
    }
  }
  return longest;
}

function start() {
  const find = id => document.getElementById(id);
  const settings = JSON.parse(find("settings").textContent);
  const items = [...document.querySelectorAll(".item")].map((place, number) => ({
    place, poem: settings.poems[number],
    boxes: [...place.querySelectorAll("textarea")],
    get texts() { return Object.fromEntries(this.boxes.map(box => [box.dataset.register, box.value])); },
    get isDone() { return this.boxes.every(box => box.dataset.register === settings.theme || plain(box.value)); },
    get isBegun() { return this.boxes.some(box => plain(box.value)); },
  }));
  if (!items.length) return;
  let current = 0, unsaved = false, later = 0;

  // What this browser keeps. From disk, or in a private window, it may keep nothing, or forbid to ask.
  const name = `verseir-queries ${settings.key}`;
  let store = null;
  try { store = window.localStorage; store.setItem(name + " try", "1"); store.removeItem(name + " try"); } catch { store = null; }
  function keep() {
    if (!store) return;
    const kept = { writer: find("writer").value, current, texts: items.map(item => item.texts), hidden: items.map(item => item.place.classList.contains("hidden")) };
    try { store.setItem(name, JSON.stringify(kept)); } catch { store = null; warnNotKept(); }
  }
  function restore() {
    let kept = null;
    try { kept = JSON.parse(store?.getItem(name) ?? "null"); } catch { kept = null; }
    if (!kept || !Array.isArray(kept.texts)) return false;
    find("writer").value = String(kept.writer ?? "");
    items.forEach((item, number) => {
      for (const box of item.boxes) box.value = String(kept.texts[number]?.[box.dataset.register] ?? "");
      turn(item, Boolean(kept.hidden?.[number]));
    });
    current = Math.min(Math.max(0, Number(kept.current) || 0), items.length - 1);
    return items.some(item => item.isBegun);
  }
  function say(text, warn = false) { const said = find("said"); said.textContent = text; said.classList.toggle("warn", warn); }
  function warnNotKept() { say("This browser keeps nothing for this page: save the file before you close it.", true); }

  function turn(item, hidden) {
    item.place.classList.toggle("hidden", hidden);
    item.place.querySelector("[data-do=hide]").hidden = hidden;
    item.place.querySelector("[data-do=show]").hidden = !hidden;
    const whole = item.place.querySelector("[data-do=whole]");
    if (whole) whole.hidden = hidden || item.place.classList.contains("whole");
  }
  function note(item) {
    for (const box of item.boxes) {
      const run = box.dataset.register === "abstract" ? sharedRun(box.value, item.poem.poem) : [];
      find(box.getAttribute("aria-describedby")).textContent =
        run.length > 1 ? `“${run.join(" ")}” stands in the poem. An abstract query says it in other words.` : "";
    }
  }
  function paint(item) {
    const number = items.indexOf(item), mark = find("map").children[number].firstChild;
    mark.classList.toggle("done", item.isDone);
    mark.setAttribute("aria-label", `Poem ${number + 1}, ${item.isDone ? "written" : item.isBegun ? "begun" : "open"}`);
    note(item);
  }
  function tally() {
    const done = items.filter(item => item.isDone).length;
    find("done").textContent = done; find("open").textContent = items.length - done; find("progress").value = done;
    find("next-open").disabled = done === items.length;
    if (find("text").open) showText();
  }
  function show(number, focus = true) {
    if (number < 0 || number >= items.length) return;
    const marks = find("map").children;
    items[current].place.classList.remove("current"); marks[current].firstChild.removeAttribute("aria-current");
    current = number;
    items[current].place.classList.add("current"); marks[current].firstChild.setAttribute("aria-current", "true");
    find("place").textContent = current + 1;
    find("before").disabled = current === 0; find("after").disabled = current === items.length - 1;
    if (focus) { items[current].place.focus({ preventScroll: true }); document.querySelector(".bar").scrollIntoView({ block: "nearest" }); }
    keep();
  }
  function nextOpen() {
    const order = items.map((_, i) => (current + 1 + i) % items.length);
    const number = order.find(i => !items[i].isDone);
    if (number !== undefined) show(number);
  }
  function changed(item) { unsaved = true; paint(item); tally(); keep(); }
  function hide(item, hidden) {
    turn(item, hidden); keep();
    if (hidden) item.boxes[0].focus(); else item.place.focus();
  }
  const rows = themes => queryRows(settings, items.map(item => item.texts), find("writer").value, themes);
  const file = themes => writeCsv(settings.columns, rows(themes));
  function showText() { find("text").querySelector("pre").textContent = file(false) + (rows(true).length ? "\n" + file(true) : ""); }
  function save(themes) {
    const writer = slug(find("writer").value);
    if (!writer) { say("Write your name first: the ids of your queries begin with it.", true); find("writer").focus(); return; }
    const n = rows(themes).length;
    if (!n) { say(themes ? "No theme is written yet." : "No query is written yet.", true); return; }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file(themes)], { type: "text/csv;charset=utf-8" }));
    link.download = `${themes ? "themes" : "queries"}-${writer}.csv`;
    document.body.append(link); link.click(); link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    if (!themes) unsaved = false;
    const open = items.filter(item => !item.isDone).length;
    const more = !themes && rows(true).length ? " Save your themes too." : "";
    say(`Saved as ${link.download}: ${n} ${n === 1 ? "row" : "rows"}.` + (open ? ` Still open: ${open} of ${items.length} poems.` : "") + more);
  }

  items.forEach((item, number) => {
    const entry = document.createElement("li"), button = document.createElement("button");
    button.type = "button"; button.textContent = number + 1;
    button.addEventListener("click", () => show(number));
    entry.append(button); find("map").append(entry);
    item.place.querySelector(".turn").addEventListener("click", event => {
      const what = event.target.closest("button")?.dataset.do;
      if (what === "hide" || what === "show") hide(item, what === "hide");
      else if (what === "whole") { item.place.classList.add("whole"); turn(item, false); item.place.focus({ preventScroll: true }); }
    });
    for (const box of item.boxes) box.addEventListener("input", () => {
      unsaved = true;
      clearTimeout(later); later = setTimeout(() => changed(item), 250);
    });
    turn(item, false);
  });
  find("before").addEventListener("click", () => show(current - 1));
  find("after").addEventListener("click", () => show(current + 1));
  find("next-open").addEventListener("click", nextOpen);
  find("writer").addEventListener("input", () => { unsaved = true; keep(); if (find("text").open) showText(); });
  find("text").addEventListener("toggle", showText);
  find("save").addEventListener("click", () => save(false));
  find("save-themes")?.addEventListener("click", () => save(true));
  find("load").addEventListener("change", async event => {
    const chosen = event.target.files[0];
    if (!chosen) return;
    const byPoem = new Map(items.map(item => [item.poem.poem_id, item]));
    let found = 0, strange = 0;
    for (const row of readCsv(await chosen.text())) {
      if (!row.text?.trim()) continue;
      const item = byPoem.get((row.poem_id || row.relevant || "").trim());
      const box = item?.boxes.find(one => one.dataset.register === row.register?.trim());
      if (!box) { strange++; continue; }
      box.value = row.text; found++;
      turn(item, true);
    }
    event.target.value = "";
    items.forEach(paint); tally(); keep();
    say(`Queries read from ${chosen.name}: ${found}.` + (strange ? ` Rows that are not of this sheet: ${strange}.` : ""), strange > 0 || !found);
  });
  find("clear").addEventListener("click", () => {
    if (!confirm("Remove all that you wrote from this page? Files that you saved stay.")) return;
    for (const item of items) { for (const box of item.boxes) box.value = ""; turn(item, false); paint(item); }
    find("writer").value = "";
    unsaved = false; tally(); show(0); say("All that was written is removed.");
  });
  document.addEventListener("keydown", event => {
    if (event.isComposing) return;
    if (event.target.matches("input, textarea")) {
      if (event.key === "Escape") event.target.blur();
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); show(current + 1); }
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    // Letters by their place where the keyboard writes another script.
    const key = /^Key[A-Z]$/.test(event.code) ? event.code[3].toLowerCase() : event.key;
    if (key === "ArrowRight") show(current + 1);
    else if (key === "ArrowLeft") show(current - 1);
    else if (key === "o") nextOpen();
    else if (key === "h") hide(items[current], !items[current].place.classList.contains("hidden"));
    else return;
    event.preventDefault();
  });
  addEventListener("beforeunload", event => { if (unsaved && !store) event.preventDefault(); });

  const back = restore();
  if (matchMedia("(max-width: 60rem)").matches && back) find("guide").open = false;
  items.forEach(paint); tally(); show(current, false);
  if (!store) warnNotKept();
  else if (back) say("What you wrote in this browser is back. Save the file when you are done.");
  else say("What you write is kept in this browser as you go. Save the file when you are done, and send it to whoever gave you this page.");
}

if (typeof document === "undefined") module.exports = { readCsv, writeCsv, plain, queryRows, slug, words, sharedRun };
else { document.documentElement.classList.add("js"); document.addEventListener("DOMContentLoaded", start); }
