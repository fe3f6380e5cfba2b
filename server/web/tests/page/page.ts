// Opens pages as a browser does, with made-up answers, and writes down what they show.
import { dom, scrolled, visited } from "./dom";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after } from "node:test";
import { createElement, options, render } from "preact";
import { App, start } from "../../src/app";
import { forgetBuildNames } from "../../src/builds";
import type { Session } from "../../src/types";
import { resetClock, settle } from "./clock";
import { markupOf } from "./markup";
import { type Answers, answerWith, takeRequests } from "./server";

export const admin: Session = {
  account: "ada",
  role: "admin",
  has_password: true,
  teams: [],
  sees_everything: true,
  expires_ns: null,
};
export const reader: Session = { ...admin, account: "rita", role: "reader" };

options.requestAnimationFrame = (call) => void requestAnimationFrame(call);
dom.document.body.innerHTML = '<div id="app"></div>';
const root = document.getElementById("app") as HTMLElement;
let started = false;

function mount(): void {
  if (!started) start(root);
  else render(createElement(App, {}), root);
  started = true;
}

const common: Answers = {
  "/api/v1/builds": { labels: [{ build: "b2b2b2b2b2b2b2b2", name: "v2" }] },
  "/api/v1/choices": {
    hosts: ["web-1", "web-2"],
    users: ["1000"],
    builds: ["b1b1b1b1b1b1b1b1", "b2b2b2b2b2b2b2b2"],
    processes: ["shop"],
    units: ["shop.service"],
    from: null,
    to: null,
  },
};

// Opens an address in a new page, signed in as an admin unless the answers say otherwise.
export async function open(address: string, answers: Answers, session = admin): Promise<void> {
  render(null, root);
  resetClock();
  forgetBuildNames();
  scrolled.length = 0;
  dom.history.replaceState({}, "", address);
  visited.length = 0;
  answerWith({ "/api/v1/session": session, ...common, ...answers });
  takeRequests();
  mount();
  await settle();
}

const words = (element: Element) => (element.textContent ?? "").replace(/\s+/g, " ").trim();

// By a selector, or a button, link or summary by its text or label.
export function find(what: string): HTMLElement {
  if (
    /^[.#[]|^(h1|main|section|article|table|header|canvas|form|svg|input|select|textarea|details)\b/.test(
      what,
    )
  ) {
    const found = document.querySelector<HTMLElement>(what);
    assert.ok(found, `nothing matches ${what}`);
    return found;
  }
  const found = [...document.querySelectorAll<HTMLElement>("button, a, summary")].find(
    (one) => words(one) === what || one.getAttribute("aria-label") === what,
  );
  assert.ok(found, `nothing to click says "${what}"`);
  return found;
}

// Forms that a browser would have sent, leaving the page.
const sent: string[] = [];
dom.addEventListener("submit", (event) => {
  const form = event.target as unknown as Element;
  if (!event.defaultPrevented) sent.push(form.getAttribute("aria-label") ?? form.className);
});

export async function send(what: string, event: Event): Promise<void> {
  find(what).dispatchEvent(event);
  assert.deepEqual(sent.splice(0), [], "the browser would send a form, and leave the page");
  await settle();
}

export async function click(what: string): Promise<void> {
  find(what).click();
  assert.deepEqual(sent.splice(0), [], "the browser would send a form, and leave the page");
  await settle();
}

// Types into a field, or chooses an option of a select or an input with a picker.
export async function enter(what: string, value: string): Promise<void> {
  const field = find(what) as HTMLInputElement;
  field.value = value;
  field.dispatchEvent(new dom.Event("input", { bubbles: true }) as never);
  field.dispatchEvent(new dom.Event("change", { bubbles: true }) as never);
  await settle();
}

export async function check(what: string, checked: boolean): Promise<void> {
  const field = find(what) as HTMLInputElement;
  field.checked = checked;
  field.dispatchEvent(new dom.Event("change", { bubbles: true }) as never);
  await settle();
}

export async function submit(what: string): Promise<void> {
  await send(what, new dom.Event("submit", { bubbles: true, cancelable: true }) as never);
}

export async function press(what: string, key: string, more: object = {}): Promise<void> {
  const event = new dom.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  await send(what, event as never);
}

export async function point(
  what: string,
  type: string,
  x: number,
  y: number,
  more: { pointerType?: string; [name: string]: unknown } = {},
): Promise<void> {
  const event = new dom.MouseEvent(type, {
    clientX: x,
    clientY: y,
    button: 0,
    bubbles: true,
    cancelable: true,
    ...more,
  });
  Object.defineProperties(event, {
    offsetX: { value: x },
    offsetY: { value: y },
    pointerType: { value: more.pointerType ?? "mouse" },
  });
  await send(what, event as never);
}

export function address(): string {
  return dom.location.pathname + dom.location.search;
}

export function requested(): string[] {
  return takeRequests().map(
    ({ method, path, body }) =>
      `${method} ${path}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`,
  );
}

// The address, what was requested since the last call, and what the elements show.
export function shown(...selectors: string[]): string {
  const parts = selectors.length === 0 ? ["main"] : selectors;
  const made = requested();
  return [
    `address ${address()}`,
    `title ${document.title}`,
    ...visited.splice(0),
    ...made.map((request) => `request ${request}`),
    ...scrolled.splice(0).map((id) => `scrolled to ${id}`),
    ...parts.flatMap((selector) =>
      [...document.querySelectorAll(selector)].map((found) => markupOf(found)),
    ),
  ].join("\n");
}

// Compares texts with a file of expected ones, in sections with titles.
export class Expected {
  private readonly path: string;
  private readonly sections = new Map<string, string>();
  private readonly seen = new Map<string, string>();

  constructor(name: string) {
    this.path = `${process.env.LAGTRAP_WEB_EXPECTED}/${name}.txt`;
    const update = process.env.LAGTRAP_UPDATE_EXPECTED === "1";
    if (!update)
      for (const part of readFileSync(this.path, "utf8").split(/^== /m).slice(1)) {
        const end = part.indexOf("\n");
        this.sections.set(part.slice(0, end), part.slice(end + 1).trimEnd());
      }
    after(() => {
      if (update) writeFileSync(this.path, this.written());
      else assert.deepEqual([...this.sections.keys()], [...this.seen.keys()], "unused sections");
    });
  }

  private written(): string {
    const sections = [...this.seen].map(([title, text]) => `== ${title}\n${text}\n`);
    return sections.join("\n");
  }

  is(title: string, text: string): void {
    assert.ok(!this.seen.has(title), `two sections are called "${title}"`);
    this.seen.set(title, text.trimEnd());
    if (this.sections.size > 0) assert.equal(text.trimEnd(), this.sections.get(title), title);
  }
}

// Goes to another address in the same page, as the browser's buttons do.
export async function go(there: string): Promise<void> {
  dom.history.replaceState({}, "", there);
  dom.dispatchEvent(new dom.Event("popstate"));
  await settle();
}
