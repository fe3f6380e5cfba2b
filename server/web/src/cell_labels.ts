// On a phone, rows of lists become cards, and each cell shows the name of its column: the style
// sheet displays data-label. Rows of compact lists do so only if the list has the class "cards".

export function labelCells(root: ParentNode): void {
  for (const table of root.querySelectorAll<HTMLTableElement>(
    "table.list:is(.cards, :not(.compact))",
  )) {
    const titles = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) =>
      (cell.textContent ?? "").replace(/ [↑↓]$/, ""),
    );
    for (const body of table.tBodies) for (const row of body.rows) labelRow(row, titles);
  }
}

// A cell that spans columns has the name of the first.
function labelRow(row: HTMLTableRowElement, titles: string[]): void {
  let column = 0;
  for (const cell of row.cells) {
    const title = titles[column];
    if (title && cell.dataset.label !== title) cell.dataset.label = title;
    column += cell.colSpan;
  }
}

// Call once, with the root element of all pages.
export function keepCellsLabelled(element: HTMLElement): void {
  new MutationObserver(() => labelCells(element)).observe(element, {
    childList: true,
    subtree: true,
    characterData: true,
  });
}
