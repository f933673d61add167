"use strict";
// A sheet of items to judge. The answers stand in the page, are kept in this browser where it lets the page do so, and
// go into a CSV file that `python -m verseir` reads as it is.

if (typeof document === "undefined") Object.assign(globalThis, require("./table.js"));

// The rows of the file: every item with an answer to the first question, and with a remark where those are kept too.
function answerRows(settings, items, annotator) {
  const rows = [];
  for (const item of items) {
    const remark = plain(item.remark), main = item.answers[settings.fields[0]];
    if (!main && !(remark && settings.keepRemarks)) continue;
    rows.push([...item.ids, ...settings.fields.map(field => item.answers[field] || ""), plain(annotator), remark]);
  }
  return rows;
}

function start() {
  const find = id => document.getElementById(id);
  const settings = JSON.parse(find("settings").textContent);
  const items = [...document.querySelectorAll(".item")].map(place => ({
    place,
    ids: settings.ids.map(name => place.getAttribute("data-" + name.replaceAll("_", "-"))),
    answers: {},
    box: place.querySelector("textarea"),
    get remark() { return this.box.value; },
  }));
  if (!items.length) return;
  const main = settings.fields[0], byId = new Map(items.map(item => [item.ids.join("\u001f"), item]));
  let current = 0, unsaved = false, later = 0;

  // What this browser keeps. From disk, or in a private window, it may keep nothing, or forbid to ask.
  const name = `verseir-sheet ${settings.sheet} ${settings.key}`;
  let store = null;
  try { store = window.localStorage; store.setItem(name + " try", "1"); store.removeItem(name + " try"); } catch { store = null; }
  function keep() {
    if (!store) return;
    const answered = items.filter(item => Object.keys(item.answers).length || item.remark);
    const kept = { annotator: find("annotator").value, current, answers: answered.map(item => [item.ids, item.answers, item.remark]) };
    try { store.setItem(name, JSON.stringify(kept)); } catch { store = null; warnNotKept(); }
  }
  function restore() {
    let kept = null;
    try { kept = JSON.parse(store?.getItem(name) ?? "null"); } catch { kept = null; }
    if (!kept || !Array.isArray(kept.answers)) return 0;
    find("annotator").value = String(kept.annotator ?? "");
    for (const [ids, answers, remark] of kept.answers) fill(byId.get(ids.join("\u001f")), answers, remark);
    current = Math.min(Math.max(0, Number(kept.current) || 0), items.length - 1);
    return kept.answers.length;
  }
  function say(text, warn = false) { const said = find("said"); said.textContent = text; said.classList.toggle("warn", warn); }
  function warnNotKept() { say("This browser keeps no answers for this page: save the file before you close it.", true); }

  function fill(item, answers, remark) {
    if (!item) return false;
    for (const field of settings.fields) {
      if (settings.answers[field].includes(answers[field])) item.answers[field] = answers[field];
    }
    if (remark) item.box.value = remark;
    return true;
  }
  function paint(item) {
    for (const button of item.place.querySelectorAll("[data-field]")) {
      button.setAttribute("aria-pressed", String(item.answers[button.dataset.field] === button.dataset.value));
    }
    const number = items.indexOf(item), mark = find("map").children[number].firstChild, answer = item.answers[main];
    mark.classList.toggle("done", Boolean(answer));
    mark.setAttribute("aria-label", `Item ${number + 1}, ${answer ? "answered" : item.remark ? "open, with a remark" : "open"}`);
  }
  function tally() {
    const done = items.filter(item => item.answers[main]).length;
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
    const number = order.find(i => !items[i].answers[main]);
    if (number !== undefined) show(number);
  }
  function changed(item) { unsaved = true; paint(item); tally(); keep(); }
  function answer(field, value) {
    const item = items[current];
    if (item.answers[field] === value) delete item.answers[field]; else item.answers[field] = value;
    changed(item);
  }
  const file = () => writeCsv(settings.columns, answerRows(settings, items, find("annotator").value));
  function showText() { find("text").querySelector("pre").textContent = file(); }

  items.forEach((item, number) => {
    const entry = document.createElement("li"), button = document.createElement("button");
    button.type = "button"; button.textContent = number + 1;
    button.addEventListener("click", () => show(number));
    entry.append(button); find("map").append(entry);
    item.place.addEventListener("click", event => {
      const chosen = event.target.closest("[data-field]");
      if (chosen) answer(chosen.dataset.field, chosen.dataset.value);
    });
    item.box.addEventListener("input", () => {
      unsaved = true;
      clearTimeout(later); later = setTimeout(() => changed(item), 250);
    });
  });
  find("before").addEventListener("click", () => show(current - 1));
  find("after").addEventListener("click", () => show(current + 1));
  find("next-open").addEventListener("click", nextOpen);
  find("annotator").addEventListener("input", () => { unsaved = true; keep(); if (find("text").open) showText(); });
  find("text").addEventListener("toggle", showText);
  find("save").addEventListener("click", () => {
    const annotator = plain(find("annotator").value);
    if (!annotator) { say("Write your name first: the file says who judged.", true); find("annotator").focus(); return; }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file()], { type: "text/csv;charset=utf-8" }));
    link.download = `${settings.sheet}-${annotator.replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-|-$/g, "")}.csv`;
    document.body.append(link); link.click(); link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    unsaved = false;
    const open = items.filter(item => !item.answers[main]).length;
    say(`Saved as ${link.download}.` + (open ? ` Still open: ${open} of ${items.length}.` : " All items are answered."));
  });
  find("load").addEventListener("change", async event => {
    const chosen = event.target.files[0];
    if (!chosen) return;
    let found = 0, strange = 0;
    const names = new Set();
    for (const row of readCsv(await chosen.text())) {
      const answers = Object.fromEntries(settings.fields.map(field => [field, (row[field] ?? "").trim().toLowerCase()]));
      if (!fill(byId.get(settings.ids.map(id => (row[id] ?? "").trim()).join("\u001f")), answers, row.remark)) { strange++; continue; }
      found++;
      if (row.annotator?.trim()) names.add(row.annotator.trim());
    }
    event.target.value = "";
    if (names.size === 1 && !find("annotator").value.trim()) find("annotator").value = [...names][0];
    items.forEach(paint); tally(); keep();
    const others = names.size > 1 ? " The file names several annotators." : "";
    say(`Items read from ${chosen.name}: ${found}.` + (strange ? ` Rows that are not of this sheet: ${strange}.` : "") + others, strange > 0 || names.size > 1 || !found);
  });
  find("clear").addEventListener("click", () => {
    if (!confirm("Remove all answers and remarks from this page? Files that you saved stay.")) return;
    for (const item of items) { item.answers = {}; item.box.value = ""; paint(item); }
    find("annotator").value = "";
    unsaved = false; tally(); show(0); say("All answers were removed.");
  });
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (event.target.matches("input, textarea")) { if (event.key === "Escape") event.target.blur(); return; }
    // Digits of any script, and letters by their place where the keyboard writes Arabic.
    const digit = "٠١٢٣٤٥٦٧٨٩".indexOf(event.key), persian = "۰۱۲۳۴۵۶۷۸۹".indexOf(event.key);
    const key = digit >= 0 ? String(digit) : persian >= 0 ? String(persian) : /^Key[A-Z]$/.test(event.code) ? event.code[3].toLowerCase() : event.key;
    if (Object.hasOwn(settings.keys, key)) answer(...settings.keys[key]);
    else if (key === "ArrowRight") show(current + 1);
    else if (key === "ArrowLeft") show(current - 1);
    else if (key === "o") nextOpen();
    else return;
    event.preventDefault();
  });
  addEventListener("beforeunload", event => { if (unsaved && !store) event.preventDefault(); });

  const back = restore();
  if (matchMedia("(max-width: 60rem)").matches && back) find("guide").open = false;
  items.forEach(paint); tally(); show(current, false);
  if (!store) warnNotKept();
  else if (back) say("Your answers in this browser are back. Save the file when you are done.");
  else say("Your answers are kept in this browser as you go. Save the file when you are done, and send it to whoever gave you this page.");
}

if (typeof document === "undefined") module.exports = { readCsv, writeCsv, plain, answerRows };
else { document.documentElement.classList.add("js"); document.addEventListener("DOMContentLoaded", start); }
