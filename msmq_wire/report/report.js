"use strict";
(() => {
  const holder = document.getElementById("message-data");
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open]):not(.quiet):not(.quiet details)")) {
      one.open = true;
      opened.push(one);
    }
  });
  addEventListener("afterprint", () => {
    while (opened.length) opened.pop().open = false;
  });
  const reveal = (target) => {
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    target.scrollIntoView({ block: "start" });
  };
  const go = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) reveal(target);
  };
  if (!holder) {
    addEventListener("hashchange", go);
    go();
    return;
  }

  const { words, lives, rows, page, found: marks } = JSON.parse(holder.textContent);
  const body = document.getElementById("message-rows");
  const search = document.getElementById("message-search");
  const outcome = document.getElementById("message-outcome");
  const status = document.getElementById("message-status");
  const previous = document.getElementById("message-previous");
  const next = document.getElementById("message-next");
  const heads = [...document.querySelectorAll("#messages-table thead th")];
  const kinds = heads.map((head) => head.className);
  const names = heads.map((head) => head.textContent);
  const count = new Intl.NumberFormat("en");

  const time = (microseconds) =>
    microseconds === null || Math.abs(microseconds) > 8.64e18
      ? "–"
      : new Date(Math.floor(microseconds / 1000)).toISOString().slice(0, 23).replace("T", " ");
  const later = (microseconds) => {
    if (microseconds === null) return "";
    const size = Math.abs(microseconds);
    if (size < 1e3) return `${microseconds} µs later`;
    if (size < 1e6) return `${(microseconds / 1e3).toFixed(1)} ms later`;
    return `${(microseconds / 1e6).toFixed(1)} s later`;
  };
  const text = (value) => (value === null ? "" : String(value));
  const value = [
    (row) => row[0],
    (row) => row[1],
    (row) => words[row[2]],
    (row) => words[row[3]],
    (row) => words[row[4]],
    (row) => row[5],
    (row) => words[row[6]],
    (row) => row[7],
    (row) => words[row[8]],
    (row) => row[9],
  ];
  const numeric = kinds.map((kind) => kind.includes("number"));
  const shown = value.map((get, at) => (at === 1 ? (row) => time(row[1]) : (row) => text(get(row))));
  const searched = [
    ...shown,
    (row) => words[row[10]] + row[11],
    (row) => words[row[12]],
    (row) => row[13],
    (row) => (row[15] === null ? "" : words[lives[row[15]][0]]),
  ];

  let found = rows;
  let first = 0;
  let column = 0;
  let down = false;
  const open = new Set();

  const make = (name, content, parent) => {
    const made = document.createElement(name);
    if (content) made.textContent = content;
    if (parent) parent.append(made);
    return made;
  };
  const fact = (list, name, content) => {
    const pair = make("div", "", list);
    make("dt", name, pair);
    const held = make("dd", "", pair);
    held.append(content);
  };
  const link = (address, content) => {
    const made = make("a", content);
    made.setAttribute("href", address);
    return made;
  };

  const life = (steps) => {
    const list = make("ol");
    for (let at = 0; at < steps.length; at += 3) {
      const [what, after, frame] = steps.slice(at, at + 3);
      const told = [later(after), frame === null ? "" : `frame ${frame}`].filter(Boolean).join(", ");
      make("li", words[what] + (told ? ` (${told})` : ""), list);
    }
    return list;
  };

  const details = (row) => {
    const line = make("tr");
    line.className = "opened";
    line.id = `message-${row[0]}-opened`;
    const cell = make("td", "", line);
    cell.colSpan = heads.length;
    const list = make("dl", "", cell);
    for (const at of [2, 3, 4, 5, 6, 7, 9]) if (shown[at](row)) fact(list, names[at], shown[at](row));
    if (row[11]) fact(list, "Message", words[row[10]] + row[11]);
    if (row[14] !== null) fact(list, "Sent, by the sender's clock", time(row[14] * 1e6).slice(0, 19));
    for (const one of words[row[12]].split("\n").filter(Boolean)) {
      const at = one.indexOf(": ");
      fact(list, one.slice(0, at), one.slice(at + 2));
    }
    if (row[16] !== null) fact(list, "Session", link(`#session-${row[16]}`, String(row[16])));
    for (const [anchor, words_of] of marks[row[0]] ?? []) fact(list, "Finding", link(`#${anchor}`, words_of));
    if (row[13]) {
      make("h3", "Body", cell);
      make("p", row[13], cell).className = "body";
    }
    if (row[15] !== null) {
      make("h3", "What became of it", cell);
      const [reason, steps] = lives[row[15]];
      make("p", `${words[row[8]]}: ${words[reason]}`, cell);
      if (steps.length) cell.append(life(steps));
    }
    return line;
  };

  const toggle = (button, line, row, wanted) => {
    if (wanted === open.has(row[0]) && wanted === (button.getAttribute("aria-expanded") === "true")) return;
    button.setAttribute("aria-expanded", String(wanted));
    if (wanted) {
      open.add(row[0]);
      line.after(details(row));
    } else {
      open.delete(row[0]);
      line.nextElementSibling.remove();
    }
  };

  const draw = () => {
    const part = document.createDocumentFragment();
    for (const row of found.slice(first, first + page)) {
      const line = make("tr", "", part);
      line.id = `message-${row[0]}`;
      const button = make("button", text(row[0]));
      button.type = "button";
      button.setAttribute("aria-expanded", "false");
      button.setAttribute("aria-label", `Message ${row[0]}: details`);
      button.addEventListener("click", () => toggle(button, line, row, !open.has(row[0])));
      shown.forEach((get, at) => {
        const cell = make(at === 0 ? "th" : "td", "", line);
        if (at === 0) cell.scope = "row";
        if (kinds[at]) cell.className = kinds[at];
        if (at === 0) cell.append(button);
        else cell.textContent = get(row);
      });
      if (open.has(row[0])) toggle(button, line, row, true);
    }
    body.replaceChildren(part);
    const last = Math.min(first + page, found.length);
    const part_of = found.length ? `${count.format(first + 1)} to ${count.format(last)} of ` : "";
    status.textContent =
      `${part_of}${count.format(found.length)}` +
      (found.length === rows.length ? " messages" : ` found in ${count.format(rows.length)} messages`);
    previous.disabled = first === 0;
    next.disabled = last >= found.length;
  };

  const sort = () => {
    const get = value[column];
    const compare = numeric[column] || column === 1
      ? (a, b) => (a ?? -1) - (b ?? -1)
      : (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    found.sort((a, b) => (down ? -1 : 1) * compare(get(a), get(b)) || a[0] - b[0]);
    heads.forEach((head, at) => {
      if (at === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };

  const look = () => {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = rows.filter((row) => {
      if (outcome.value && text(row[8]) !== outcome.value) return false;
      if (!wanted.length) return true;
      const all = searched.map((get) => get(row)).join("\n").toLowerCase();
      return wanted.every((word) => all.includes(word));
    });
    sort();
    first = 0;
    draw();
  };

  /** Follow the anchor in the address: a message may be on another page of the table. */
  const follow = () => {
    const number = /^#message-(\d+)$/.exec(location.hash);
    if (!number) return go();
    const is_it = (row) => row[0] === Number(number[1]);
    if (!rows.some(is_it)) return;
    if (!found.some(is_it)) {
      search.value = outcome.value = "";
      look();
    }
    first = Math.floor(found.findIndex(is_it) / page) * page;
    open.add(Number(number[1]));
    draw();
    const line = document.getElementById(location.hash.slice(1));
    line.scrollIntoView({ block: "center" });
    line.querySelector("button").focus({ preventScroll: true });
  };

  heads.forEach((head, at) => {
    const button = make("button", head.textContent);
    button.type = "button";
    button.addEventListener("click", () => {
      down = column === at && !down;
      column = at;
      sort();
      first = 0;
      draw();
    });
    head.replaceChildren(button);
  });
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(look, 150);
  });
  const outcomes = new Map();
  for (const row of rows) outcomes.set(row[8], (outcomes.get(row[8]) ?? 0) + 1);
  for (const [word, number] of [...outcomes].sort((a, b) => b[1] - a[1])) {
    const option = make("option", `${words[word] || "not known"} (${count.format(number)})`, outcome);
    option.value = text(word);
  }
  outcome.addEventListener("change", look);
  previous.addEventListener("click", () => { first = Math.max(0, first - page); draw(); });
  next.addEventListener("click", () => { first += page; draw(); });
  document.getElementById("message-controls").hidden = false;
  addEventListener("hashchange", follow);
  look();
  if (location.hash) follow();
})();
