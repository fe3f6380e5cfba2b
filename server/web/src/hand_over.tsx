// Saves a page as one HTML file that needs neither the server nor a script.
import { formatTime } from "./format";
import { inLight } from "./theme";
import { zoneName } from "./zone";

const left_out =
  "button, form, select, input, label, nav, script, .actions, .title-links, .help, " +
  ".hand-over, .neighbours, .flame-height, .panel-aside, .flame-controls, details.keys";

// Buttons with content of the page: they become text.
const texts = "button.function-name, button.sort, button.legend-entry";

// Everything that the file may use is in it.
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

function styles(): string {
  return [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText))
    .join("\n");
}

// A canvas as a picture of its own size. Made in a document of its own, which loads nothing.
function pictureOf(canvas: HTMLCanvasElement, within: Document): HTMLImageElement {
  const picture = within.createElement("img");
  picture.setAttribute(
    "src",
    canvas.width > 0 && canvas.height > 0 ? canvas.toDataURL("image/png") : "data:,",
  );
  picture.alt =
    canvas.getAttribute("aria-label") ??
    canvas.closest("[aria-label]")?.getAttribute("aria-label") ??
    "";
  if (canvas.className === "overlay") picture.className = "over";
  picture.setAttribute("width", String(canvas.clientWidth));
  picture.setAttribute("height", String(canvas.clientHeight));
  return picture;
}

export function escaped(text: string): string {
  return text
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");
}

// Serializing the page escapes all names in it.
function htmlOf(page: HTMLElement, title: string, said: string): string {
  const inert = document.implementation.createHTMLDocument("");
  const copy = inert.importNode(page, true);
  const canvases = [...page.querySelectorAll("canvas")];
  copy
    .querySelectorAll("canvas")
    .forEach((canvas, place) => canvas.replaceWith(pictureOf(canvases[place], inert)));
  for (const button of copy.querySelectorAll<HTMLElement>(texts)) {
    const text = inert.createElement("span");
    text.className = button.className;
    text.title = button.title;
    text.append(...button.childNodes);
    button.replaceWith(text);
  }
  for (const element of copy.querySelectorAll(left_out)) element.remove();
  for (const link of copy.querySelectorAll("a[href]"))
    link.setAttribute("href", new URL(link.getAttribute("href") ?? "", window.location.href).href);
  return [
    '<!doctype html>\n<html lang="en" data-theme="light">\n<head>\n<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title>\n<style>\n${styles()}\n</style>\n</head>\n<body ` +
      `class="handed-over">`,
    copy.outerHTML,
    `<p class="muted handed-over">${escaped(said)}</p>\n</body>\n</html>\n`,
  ].join("\n");
}

// "checkout-took-124-ms-on-fra-web-01.html".
export function fileName(title: string): string {
  const words = title
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9.]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "");
  return `${words.slice(0, 80) || "lagtrap"}.html`;
}

async function save(): Promise<void> {
  const page = document.querySelector("main");
  if (!page) return;
  const title = document.title.replace(/ · lagtrap$/, "");
  const said =
    `Saved from ${window.location.href} at ${formatTime(`${BigInt(Date.now()) * 1000000n}`)} ` +
    `${zoneName()}.`;
  const text = await inLight(() => htmlOf(page, title, said));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  link.download = fileName(title);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60e3);
}

export function HandOver() {
  return (
    <button
      type="button"
      class="quiet hand-over"
      title="One file with all that this page shows, to send to somebody without access"
      onClick={() => void save()}>
      Save as HTML
    </button>
  );
}
