"use strict";
(() => {
  const holder = document.getElementById("message-data");
  const opened = [];
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open])")) {
      one.open = true;
      opened.push(one);
    }
  });
  addEventListener("afterprint", () => {
    while (opened.length) opened.pop().open = false;
  });
  if (!holder) return;

  const { words, rows, page } = JSON.parse(holder.textContent);
  const body = document.getElementById("message-rows");
  const search = document.getElementById("message-search");
  const status = document.getElementById("message-status");
  const previous = document.getElementById("message-previous");
  const next = document.getElementById("message-next");
  const heads = [...document.querySelectorAll("#messages-table thead th")];
  const numeric = heads.map((head) => head.dataset.kind === "number");
  const count = new Intl.NumberFormat("en");

  const time = (microseconds) =>
    microseconds === null || Math.abs(microseconds) > 8.64e18
      ? "–"
      : new Date(Math.floor(microseconds / 1000)).toISOString().slice(0, 23).replace("T", " ");
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
    (row) => words[row[10]] + row[11],
  ];
  const shown = value.map((get, at) => (at === 1 ? (row) => time(row[1]) : (row) => text(get(row))));

  let found = rows;
  let first = 0;
  let column = 0;
  let down = false;

  const draw = () => {
    const part = document.createDocumentFragment();
    for (const row of found.slice(first, first + page)) {
      const line = document.createElement("tr");
      shown.forEach((get, at) => {
        const cell = document.createElement(at === 0 ? "th" : "td");
        if (at === 0) cell.scope = "row";
        if (numeric[at]) cell.className = "number";
        cell.textContent = get(row);
        line.append(cell);
      });
      part.append(line);
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
      if (!wanted.length) return true;
      const all = shown.map((get) => get(row)).join("\n").toLowerCase();
      return wanted.every((word) => all.includes(word));
    });
    sort();
    first = 0;
    draw();
  };

  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
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
  previous.addEventListener("click", () => { first = Math.max(0, first - page); draw(); });
  next.addEventListener("click", () => { first += page; draw(); });
  document.getElementById("message-controls").hidden = false;
  look();
})();
