// Writes down what a page shows, for expected files: one line for each small element, others with
// their children indented below.
import { drawingOf } from "./canvas";

const line_length = 110;

function quoted(text: string): string {
  const rounded = text.replace(/\d+\.\d{4,}/g, (number) => String(Math.round(+number * 1e3) / 1e3));
  return `"${rounded.replace(/"/g, "&quot;").replace(/\n/g, "\\n")}"`;
}

// Values of fields, which are no attributes.
function stateOf(element: Element): [string, string][] {
  const found: [string, string][] = [];
  const { tagName } = element;
  if (["INPUT", "SELECT", "TEXTAREA", "METER"].includes(tagName))
    found.push(["value", String((element as HTMLInputElement).value)]);
  if (tagName === "INPUT" && (element as HTMLInputElement).checked) found.push(["checked", ""]);
  return found;
}

function attributesOf(element: Element): string {
  const all = new Map<string, string>();
  for (const { name, value } of element.attributes) all.set(name, value);
  for (const [name, value] of stateOf(element)) all.set(name, value);
  return [...all]
    .filter(([name, value]) => name !== "data-label" && (name !== "class" || value.trim() !== ""))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => (value === "" ? ` ${name}` : ` ${name}=${quoted(value.trim())}`))
    .join("");
}

const spaces = (text: string) => text.replace(/[ \n]+/g, " ");

function inline(node: Node): string {
  if (node.nodeType === 3) return spaces(node.textContent ?? "");
  if (node.nodeType !== 1) return "";
  const element = node as Element;
  const tag = element.tagName.toLowerCase();
  if (tag === "wbr") return "";
  if (tag === "canvas" && drawingOf(element).lines.length > 0) return "x".repeat(line_length + 1);
  const children = [...element.childNodes].map(inline).join("");
  return `<${tag}${attributesOf(element)}>${children === "" ? "" : `${children}</${tag}>`}`;
}

// The meanings of terms are the same on all pages.
function helpOf(element: Element): string {
  const words = [...element.querySelectorAll("dt")].map((word) => word.textContent);
  return `<details class="help">${words.join(", ")}`;
}

function write(node: Node, indent: string, lines: string[]): void {
  const short = inline(node).trim();
  if (short === "") return;
  if (indent.length + short.length <= line_length || node.nodeType !== 1) {
    lines.push(indent + short);
    return;
  }
  const element = node as Element;
  if (element.className === "help") {
    lines.push(indent + helpOf(element));
    return;
  }
  lines.push(`${indent}<${element.tagName.toLowerCase()}${attributesOf(element)}>`);
  if (element.tagName === "CANVAS")
    for (const line of drawingOf(element).lines) lines.push(`${indent}  ${line}`);
  // What a browser offers for a field may be hundreds, and depends on the browser.
  const children = [...element.childNodes].slice(0, element.tagName === "DATALIST" ? 1 : undefined);
  let text = "";
  const flush = () => {
    if (text.trim() !== "") lines.push(`${indent}  ${text.trim()}`);
    text = "";
  };
  for (const child of children) {
    if (child.nodeType === 3) {
      text += spaces(child.textContent ?? "");
      continue;
    }
    flush();
    write(child, `${indent}  `, lines);
  }
  flush();
}

export function markupOf(element: Element): string {
  const lines: string[] = [];
  write(element, "", lines);
  return lines.join("\n");
}
