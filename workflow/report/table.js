"use strict";
// What the pages that people fill in share: tables as spreadsheets read and write them. It stands before a page's own script.

// Reads a CSV as spreadsheets save it: with or without a byte order mark, CRLF or LF, parted by comma, semicolon or tab.
function readCsv(text) {
  text = text.replace(/^\ufeff/, "");
  const head = text.split(/\r?\n/, 1)[0];
  const count = mark => head.split(mark).length;
  const comma = [";", "\t"].reduce((best, mark) => count(mark) > count(best) ? mark : best, ",");
  const rows = [];
  let row = [], cell = "", quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (quoted) {
      if (char !== '"') cell += char;
      else if (text[i + 1] === '"') { cell += '"'; i++; }
      else quoted = false;
    } else if (char === '"' && !cell) quoted = true;
    else if (char === comma) { row.push(cell); cell = ""; }
    else if (char === "\n" || char === "\r") {
      if (char === "\r" && text[i + 1] === "\n") i++;
      row.push(cell); rows.push(row); row = []; cell = "";
    } else cell += char;
  }
  if (cell || row.length) { row.push(cell); rows.push(row); }
  const names = (rows.shift() || []).map(name => name.trim());
  return rows.filter(cells => cells.some(cell => cell.trim())).map(cells => Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ""])));
}

function writeCsv(columns, rows) {
  const line = cells => cells.map(cell => /[",\r\n]/.test(cell) ? '"' + cell.replaceAll('"', '""') + '"' : cell).join(",");
  return [columns, ...rows].map(line).join("\n") + "\n";
}

// One line without characters that no file may hold; never taken for a formula by a spreadsheet.
function plain(text) {
  return text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, " ").replace(/[\ud800-\udfff]/gu, "").replace(/\s+/g, " ").trim().replace(/^[=+\-@]+\s*/, "");
}

if (typeof document === "undefined") module.exports = { readCsv, writeCsv, plain };
