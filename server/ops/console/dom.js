// Elements without markup in strings: what comes from clients is text and nothing else.

// el("td", { class: "num" }, 5, el("b", {}, "x")): properties whose names begin with `on` are listeners; null and false
// leave an attribute out.
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false)
    .map(child => child instanceof Node ? child : String(child)));
  return element;
}

export const byId = id => document.getElementById(id);

export function replace(element, ...children) {
  element.replaceChildren(...children.flat().filter(child => child !== null && child !== undefined));
}

// Like replace, but keeps the elements that are there already and changes only what differs, so that the pointer, the
// focus and a selection stay where they are. Listeners stay those of the first time.
export function renew(element, ...children) {
  settle(element, el("div", {}, ...children));
}

function settle(element, next) {
  const here = [...element.childNodes];
  [...next.childNodes].forEach((node, i) => {
    const old = here[i];
    if (old === undefined) element.append(node);
    else if (old.nodeName !== node.nodeName) old.replaceWith(node);
    else if (node.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== node.data) old.data = node.data;
    } else {
      for (const { name } of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name);
      for (const { name, value } of node.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
      settle(old, node);
    }
  });
  for (const old of here.slice(next.childNodes.length)) old.remove();
}

// Changes text only where it differs, so that selections and readers are left alone.
export function setText(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

// A table whose rows are lists of cells; `columns` are { name, num } in their order. Cells and names are texts, elements, or
// lists of both. The table scrolls by itself where it is too wide, which a keyboard can do as well.
export function table(caption, columns, rows, empty) {
  if (rows.length === 0) return el("p", { class: "soft" }, empty);
  const cells = (row, tag) => row.map((cell, i) =>
    el(tag, { class: columns[i].num ? "num" : columns[i].wide ? "wide" : null, scope: tag === "th" ? "col" : null }, cell));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", { class: "unseen" }, caption),
      el("thead", {}, el("tr", {}, cells(columns.map(column => column.name), "th"))),
      el("tbody", {}, rows.map(row => el("tr", {}, cells(row, "td"))))));
}

// Names and values.
export function facts(entries) {
  return el("dl", { class: "facts" }, entries.filter(Boolean).map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

// Says something to screen readers alone.
export function speak(text) { setText(byId("spoken"), text); }
