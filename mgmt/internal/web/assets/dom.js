// SPDX-License-Identifier: Apache-2.0
// The page shows text alone: nothing that comes from the box is ever read as HTML.

/** A new element with its class, its text and what else is in it. */
export function make(tag, { name, text, inside = [] } = {}) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  element.append(...inside);
  return element;
}

/** Change a text, unless it is the same: what somebody has selected stays so. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A table of a section. Columns have a title, what they say of a row, and whether that is a
 * number; `none` is said of no rows.
 */
export class Table {
  constructor(section, columns, none) {
    this.columns = columns;
    const heads = columns.map(({ title, number }) => make("th", { text: title, name: number ? "number" : "" }));
    for (const head of heads) head.scope = "col";
    this.body = make("tbody");
    this.table = make("table", { inside: [make("thead", { inside: [make("tr", { inside: heads })] }), this.body] });
    this.scroller = make("div", { name: "scroll", inside: [this.table] });
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("role", "region");
    this.scroller.setAttribute("aria-label", section.querySelector("h2").textContent);
    this.note = make("p", { name: "note", text: none });
    this.none = none;
    section.append(this.scroller, this.note);
  }

  /** Show rows; `note` is said below them. */
  show(rows, note = "") {
    while (this.body.rows.length > rows.length) this.body.deleteRow(-1);
    rows.forEach((row, at) => {
      const line = this.body.rows[at] ?? this.line();
      this.columns.forEach(({ value }, column) => say(line.cells[column], value(row)));
    });
    this.scroller.hidden = rows.length === 0;
    say(this.note, rows.length === 0 ? this.none : note);
  }

  line() {
    const line = this.body.insertRow();
    for (const { number, name } of this.columns) line.append(make("td", { name: number ? "number" : name }));
    return line;
  }
}
