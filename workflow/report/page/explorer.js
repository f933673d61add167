// The explorer: single queries, with what each system shows for them. All texts are put in as text, never as markup.
function startExplorer() {
  const section = document.getElementById("explorer");
  if (!section) return;
  const data = JSON.parse(document.getElementById("examples").textContent);
  const { depth, systems, modes, queries, poems, chunks } = data;
  const form = section.querySelector("form"), list = section.querySelector(".found ol"), rest = section.querySelector(".rest");
  const said = section.querySelector(".told"), page = section.querySelector(".query");
  const themes = JSON.parse(section.dataset.themes);
  const AT_ONCE = 200;
  let shown = [], limit = AT_ONCE, current = null;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
    element.append(...children.filter(child => child !== null && child !== ""));
    return element;
  }
  const many = (n, one, more = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;

  // A line with the words of `shared` marked, each as a whole: a mark within a word would part its letters.
  function marked([text, places = []], shared) {
    const spans = [];
    for (let i = 0; i < places.length; i += 3) {
      if (!shared.has(places[i + 2])) continue;
      const last = spans[spans.length - 1];
      if (last && places[i] <= last[1]) last[1] = Math.max(last[1], places[i + 1]);
      else spans.push([places[i], places[i + 1]]);
    }
    const parts = document.createDocumentFragment();
    let at = 0;
    for (const [start, end] of spans) {
      parts.append(text.slice(at, start), make("mark", {}, text.slice(start, end)));
      at = end;
    }
    parts.append(text.slice(at));
    return parts;
  }
  const wordsOf = query => new Set((query.text[1] || []).filter((_, i) => i % 3 === 2));
  const nothing = new Set();

  // What a reader looks for is folded as the texts of queries were.
  function folded(text) {
    const letters = [...text.normalize("NFKC").toLowerCase()].map(letter => data.fold[letter] ?? letter).join("");
    return letters.replace(/[^\p{L}\p{M}\p{N}]+/gu, " ").trim().split(" ").filter(Boolean);
  }

  const rankIn = (query, mode, system) => query.results[mode][system] ? query.results[mode][system][0] : undefined;
  const isFound = (query, mode, system) => rankIn(query, mode, system) > 0 && rankIn(query, mode, system) <= depth;
  const ran = (query, mode) => systems.map((_, system) => system).filter(system => query.results[mode][system]);

  function outcome(query, mode, by, not) {
    if (by === "" && not === "") return true;
    if (!query.relevant) return false;
    const there = ran(query, mode), finders = there.filter(system => isFound(query, mode, system));
    const hit = by === "" || (by === "any" ? finders.length > 0 : finders.includes(Number(by)));
    const miss = not === "" || (not === "any" ? finders.length === 0 : there.includes(Number(not)) && !finders.includes(Number(not)));
    return hit && miss;
  }

  function address(query) {
    const corpora = data.places.filter(place => place.set === query.set).length;
    return "#explorer/" + [query.set, query.id, ...(corpora > 1 ? [query.corpus] : [])].map(encodeURIComponent).join("/");
  }

  function named(hash) {
    if (!hash.startsWith("#explorer/")) return null;
    try {
      const [set, id, corpus] = hash.slice(10).split("/").map(decodeURIComponent);
      return queries.find(query => query.set === set && query.id === id && (!corpus || query.corpus === corpus)) || null;
    } catch { return null; }
  }

  function fill(name, options) {
    const select = form.elements[name];
    for (const [value, label] of options) select.append(make("option", { value }, label));
    if (options.length < 2) select.closest("label").hidden = true;
  }
  const all = values => [...new Set(values)].filter(value => value !== undefined);
  const choice = (values, every) => values.length > 1 ? [["", every], ...values.map(value => [value, value])] : values.map(value => ["", value]);
  fill("corpus", choice(all(queries.map(query => query.corpus)), "all"));
  fill("set", choice(all(queries.map(query => query.set)), "all"));
  const order = ["quoting", "half-remembered", "abstract", "thematic"];
  const place = register => order.includes(register) ? order.indexOf(register) : order.length;
  fill("register", choice(all(queries.map(query => query.register)).sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1)), "all"));
  fill("mode", modes.map(({ name }, i) => [i, name]));
  fill("by", [["", "(no condition)"], ["any", "any system"], ...systems.map((name, i) => [i, name])]);
  fill("not", [["", "(no condition)"], ["any", "any system"], ...systems.map((name, i) => [i, name])]);
  const base = modes.findIndex(({ name }) => name === data.base);
  const setDefaults = () => { form.elements.mode.value = Math.max(base, 0); };
  const chosen = name => form.elements[name].value;
  const mode = () => Number(chosen("mode"));
  const compared = () => [chosen("by"), chosen("not")].filter(value => value !== "" && value !== "any").map(Number);

  function facts(query) {
    const told = [];
    if (!chosen("set") && form.elements.set.options.length > 1) told.push(query.set);
    if (query.register && !chosen("register")) told.push(query.register);
    const there = ran(query, mode());
    for (const system of compared()) if (there.includes(system)) told.push(`${systems[system]}: ${rankIn(query, mode(), system) || "not in the list"}`);
    if (!compared().length && query.relevant) told.push(`found by ${there.filter(system => isFound(query, mode(), system)).length} of ${there.length}`);
    return told;
  }

  function update() {
    const asked = folded(chosen("words")), raw = chosen("words").trim().toLowerCase();
    shown = queries.filter(query =>
      (!chosen("corpus") || query.corpus === chosen("corpus")) && (!chosen("set") || query.set === chosen("set")) &&
      (!chosen("register") || query.register === chosen("register")) && ran(query, mode()).length > 0 &&
      (asked.every(word => query.plain.includes(word)) || (raw && query.id.toLowerCase().includes(raw))) &&
      outcome(query, mode(), chosen("by"), chosen("not")));
    limit = AT_ONCE;
    said.textContent = `${many(shown.length, "query", "queries")} of ${queries.length.toLocaleString("en")}` + (shown.length ? "." : ": no query fits all of these.");
    draw();
    const kept = section.classList.contains("is-chosen") ? current : shown[0];
    if (kept) open(kept);
  }

  function draw() {
    list.replaceChildren(...shown.slice(0, limit).map(query =>
      make("li", {}, make("a", { href: address(query), "aria-current": query === current && "true" },
        make("q", { dir: query.direction, lang: query.language }, query.text[0]),
        make("small", {}, ...facts(query).map(fact => make("span", {}, fact)))))));
    rest.hidden = shown.length <= limit;
    rest.textContent = `Show ${Math.min(AT_ONCE, shown.length - limit)} more`;
  }

  function verses(poem, numbers, shared, indexed = true) {
    const lines = numbers.map(number => poem.verses[number]);
    const halves = lines.some(line => line.length > 1);
    return make("div", { class: "verses" + (halves ? " halves" : "") + (indexed ? "" : " unseen-by"), dir: poem.direction, lang: poem.language },
      ...lines.map(line => make("p", {}, ...line.flatMap((half, i) => [
        i ? " " : "", make("span", { class: line.length < 2 && "single" }, marked(half, indexed ? shared : nothing))]))));
  }

  function poemName(poem, numbers, ...more) {
    const own = { dir: poem.direction, lang: poem.language };
    const [first, last] = [numbers[0] + 1, numbers[numbers.length - 1] + 1];
    const part = numbers.length < poem.length ? `verse${last > first ? "s" : ""} ${first}${last > first ? "–" + last : ""} of ${poem.length}` : "";
    const parts = [poem.title && make("b", {}, make("bdi", own, poem.title[0])), poem.poet && make("bdi", own, poem.poet), make("span", {}, poem.id), part].filter(Boolean);
    return make("p", { class: "poem-name" }, ...more, ...parts.flatMap((one, i) => i ? [" · ", one] : [one]));
  }

  const graded = query => query.answers.some(([, grade]) => grade > 1);
  const grade = (query, value) => graded(query) ? `, grade ${value}` : "";

  function answers(query) {
    if (!query.answers.length) return [make("p", {}, "No text is judged relevant to it.")];
    const title = query.relevant === 1 ? "What it asks for" : "What answers it";
    const more = query.relevant - query.answers.length;
    return [make("h4", {}, title),
      make("div", { class: "answers" }, ...query.answers.map(([number, value, shared, run, numbers]) => {
        const n = shared.length, told = (n ? `${n} of ${many(query.words, "word")} of the query ${n === 1 ? "stands" : "stand"} in it` : "No word of the query stands in it") + (run > 1 ? `, ${run} in a row` : "");
        return make("div", {}, poemName(poems[number], numbers), verses(poems[number], numbers, new Set(shared)),
          make("p", { class: "poem-name" }, told + grade(query, value) + "."));
      })),
      more > 0 ? make("p", { class: "poem-name" }, `And ${many(more, "other")}.`) : null].filter(Boolean);
  }

  function rankTable(query) {
    const there = modes.map((_, i) => i).filter(i => ran(query, i).length);
    const cell = (system, i) => {
      const rank = rankIn(query, i, system), at = { class: "n" + (rank > 0 && rank <= depth ? " hit" : "") + (i === mode() ? " chosen" : "") };
      return make("td", at, rank === undefined ? "no run" : rank ? rank.toLocaleString("en") : "not in the list");
    };
    return make("div", { class: "scroll", role: "group", tabindex: "0", "aria-label": "Ranks of the chosen query" },
      make("table", {}, make("caption", {}, `Rank of the first ${query.relevant === 1 ? "and only relevant" : "relevant"} text, by indexing mode`),
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "System"), ...there.map(i => make("th", { scope: "col", class: "n" + (i === mode() ? " chosen" : "") }, modes[i].name)))),
        make("tbody", {}, ...systems.map((name, system) => there.some(i => query.results[i][system]) ? make("tr", {}, make("th", { scope: "row" }, name), ...there.map(i => cell(system, i))) : null).filter(Boolean))));
  }

  function flag(query, judged, number) {
    const value = judged.get(number);
    if (value > 0) return make("span", { class: "right" }, (query.relevant === 1 ? "the one asked for" : "relevant") + grade(query, value));
    if (value === 0) return make("span", {}, "judged not relevant");
    return themes.includes(query.set) && query.relevant ? make("span", {}, "not judged") : null;
  }

  function result(query, judged, chunk, rank) {
    const [number, first, n, sure] = chunks[chunk], poem = poems[number], fields = modes[mode()].fields, words = wordsOf(query);
    const numbers = Array.from({ length: n }, (_, i) => first + i), own = flag(query, judged, number);
    const explained = fields.filter(field => field.startsWith("explanation:")).map(field => field.slice(12)).flatMap(source =>
      numbers.map(i => poem.explained?.[source]?.[i]).filter(Boolean).map(line =>
        make("p", { class: "explained", dir: "auto", lang: /\p{Script=Arabic}/u.test(line[0]) && poem.language }, marked(line, words))));
    const name = poemName(poem, numbers, make("span", { class: "rank" }, String(rank)), " ");
    if (!sure) name.append(" · which verses won is not known");
    if (own) name.append(" · ", own);
    return make("li", { class: judged.get(number) > 0 && "answers-it" }, name,
      fields.includes("title") && poem.title ? make("p", { class: "explained", dir: poem.direction, lang: poem.language }, marked(poem.title, words)) : null,
      numbers.every(i => poem.verses[i]) ? verses(poem, numbers, words, fields.includes("verse")) : null, ...explained);
  }

  function run(query, judged, system) {
    const [rank, ...first] = query.results[mode()][system];
    const told = query.relevant ? (rank ? `first relevant at ${rank.toLocaleString("en")}` : "none relevant in the list") : "";
    return make("section", { class: "run", "aria-label": `First results of ${systems[system]}` },
      make("header", {}, make("h5", {}, systems[system]), make("span", {}, told)),
      first.length ? make("ol", {}, ...first.map((chunk, i) => result(query, judged, chunk, i + 1))) : make("p", { class: "poem-name" }, "It finds nothing."));
  }

  function open(query) {
    current = query;
    const judged = new Map(), shared = new Set(query.answers.length ? query.answers[0][2] : []);
    for (let i = 0; i < query.judged.length; i += 2) judged.set(query.judged[i], query.judged[i + 1]);
    const there = ran(query, mode()), firsts = compared().filter(system => there.includes(system));
    const inOrder = [...firsts, ...there.filter(system => !firsts.includes(system))];
    const source = query.source && queries.find(other => other.id === query.source && other.corpus === query.corpus);
    const told = [query.set, query.register, query.corpus, query.id].filter(Boolean).map(one => make("span", {}, one));
    if (query.edit) told.push(make("span", {}, query.edit.startsWith("probe") ? `synthetic (${query.edit.replace("probe:", "")})` : `edited: ${query.edit}`));
    if (source) told.push(make("a", { href: address(source) }, "before the edit"));
    told.push(make("a", { href: address(query) }, "link to this query"));
    const indexed = modes[mode()].fields.map(field => field.replace("explanation:", "explanations of source ")).join(" and ");
    const where = indexed === modes[mode()].name ? indexed : `${modes[mode()].name} (${indexed})`;
    page.replaceChildren(
      make("h3", { dir: query.direction, lang: query.language }, marked(query.text, shared)),
      make("p", { class: "facts-line" }, ...told), ...answers(query),
      ...(query.relevant ? [make("h4", {}, "Where it stands"), rankTable(query)] : []),
      make("h4", {}, `First ${depth} results, mode ${where}`),
      there.length ? make("div", { class: "runs" }, ...inOrder.map(system => run(query, judged, system))) : make("p", {}, "It was not searched in this mode."));
    for (const link of list.querySelectorAll("a")) {
      if (link.getAttribute("href") === address(query)) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  // A query that the reader chose: it is printed, and named in the address.
  function choose(query, moves) {
    if (!ran(query, mode()).length) form.elements.mode.value = modes.findIndex((_, i) => ran(query, i).length);
    section.classList.add("is-chosen");
    open(query);
    said.textContent = `${many(shown.length, "query", "queries")} of ${queries.length.toLocaleString("en")}. ${query.id} is shown.`;
    if (moves || getComputedStyle(page.parentElement).display !== "grid") {
      page.focus({ preventScroll: true });
      page.scrollIntoView({ block: "start" });
    }
  }

  section.addEventListener("click", event => {
    const link = event.target.closest("a[href^='#explorer/']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const query = named(link.getAttribute("href"));
    if (!query) return;
    event.preventDefault();
    try { history.pushState(null, "", link.getAttribute("href")); } catch { location.hash = link.getAttribute("href"); }
    choose(query, event.detail === 0);
  });
  list.addEventListener("keydown", event => {
    const links = [...list.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    links[Math.min(Math.max(to, 0), links.length - 1)].focus();
  });
  page.addEventListener("keydown", event => { if (event.key === "Escape") (list.querySelector("[aria-current]") || list.querySelector("a"))?.focus(); });
  rest.addEventListener("click", () => {
    const next = limit;
    limit += AT_ONCE;
    draw();
    list.children[next].firstChild.focus();
  });
  form.addEventListener("input", update);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { setDefaults(); update(); }));
  const follow = () => {
    const query = named(location.hash);
    if (query) choose(query, true);
    else if (location.hash.startsWith("#explorer/")) {
      said.textContent = "The query of this link is not among those of this page.";
      section.scrollIntoView({ block: "start" });
    }
  };
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);

  setDefaults();
  section.querySelector(".desk").hidden = false;
  update();
  follow();
}
document.addEventListener("DOMContentLoaded", startExplorer);
