// On a phone the rows of lists become cards, and each cell has to say which column it is of: the style sheet shows data-label.

export function labelCells(root: ParentNode): void {
  for (const table of root.querySelectorAll<HTMLTableElement>("table.list:not(.compact)")) {
    const titles = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => (cell.textContent ?? "").replace(/ [↑↓]$/, ""));
    for (const body of table.tBodies)
      for (const row of body.rows)
        [...row.cells].forEach((cell, index) => {
          if (cell.dataset.label !== titles[index] && titles[index]) cell.dataset.label = titles[index];
        });
  }
}

// Once, for the element that all pages are drawn into.
export function keepCellsLabelled(element: HTMLElement): void {
  new MutationObserver(() => labelCells(element)).observe(element, { childList: true, subtree: true, characterData: true });
}
