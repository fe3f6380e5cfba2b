// On a phone, rows of lists become cards, and each cell shows the name of its column: the style
// sheet displays data-label.

export function labelCells(root: ParentNode): void {
  for (const table of root.querySelectorAll<HTMLTableElement>("table.list:not(.compact)")) {
    const titles = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) =>
      (cell.textContent ?? "").replace(/ [↑↓]$/, ""),
    );
    for (const body of table.tBodies)
      for (const row of body.rows)
        [...row.cells].forEach((cell, index) => {
          if (cell.dataset.label !== titles[index] && titles[index])
            cell.dataset.label = titles[index];
        });
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
