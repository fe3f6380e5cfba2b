import { dom } from "./page/dom";
import assert from "node:assert/strict";
import { test } from "node:test";
import { bundle, bundleDelays, delay } from "./answers/delays";
import { digest } from "./answers/digests";
import { flame, timeline } from "./answers/profiles";
import { runList } from "./answers/runs";
import { pass } from "./page/clock";
import { click, find, open } from "./page/page";

const api = `/api/v1/bundles/${digest("a")}`;
const made: Blob[] = [];
const taken: string[] = [];
const revoked: string[] = [];
URL.createObjectURL = (blob) => `blob:${made.push(blob as Blob)}`;
URL.revokeObjectURL = (address) => void revoked.push(address);
const click_link = dom.HTMLElement.prototype.click;
Object.assign(dom.HTMLAnchorElement.prototype, {
  click(this: HTMLAnchorElement) {
    if (this.href.startsWith("blob:")) taken.push(`${this.download} ${this.href}`);
    else click_link.call(this as never);
  },
});
dom.HTMLCanvasElement.prototype.toDataURL = () =>
  `data:image/png;${document.documentElement.dataset.theme}`;

async function openDelay(): Promise<void> {
  await open(`/bundle/${digest("a")}/3?state=all`, {
    [`${api}/delays`]: bundleDelays([delay({ event: "<b>checkout</b>", surroundings: null })], {
      bundle: bundle({ host: "web & 1" }),
    }),
    [`${api}/delays/3/profile`]: flame(),
    [`${api}/delays/3/timeline`]: timeline(),
    "/api/v1/formats": { formats: [] },
    "/api/v1/delays": { delays: [], next: null },
    "/api/v1/events/%3Cb%3Echeckout%3C%2Fb%3E/runs": runList([]),
  });
}

async function savedNow(): Promise<string> {
  const style = document.createElement("style");
  style.textContent = "main { color: red; }";
  document.head.append(style);
  await click("Save as HTML");
  await pass(100);
  style.remove();
  return made[made.length - 1].text();
}

async function saved(): Promise<string> {
  await openDelay();
  return savedNow();
}

test("a page is saved as one file without scripts, requests and controls", async () => {
  const text = await saved();
  assert.deepEqual(taken, ["b-checkout-b-took-124-ms-on-web-1.html blob:1"]);
  assert.match(text, /^<!doctype html>\n<html lang="en" data-theme="light">/);
  assert.match(text, /content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"/);
  assert.match(text, /<title>&lt;b&gt;checkout&lt;\/b&gt; took 124 ms on web &amp; 1<\/title>/);
  assert.match(text, /<style>\nmain \{ color: red; \}\n<\/style>/);
  for (const gone of [
    /<button/,
    /<select/,
    /<input/,
    /<form/,
    /<nav/,
    /class="actions"/,
    /<canvas/,
  ])
    assert.doesNotMatch(text, gone);
  assert.match(text, /<span class="code function-name" title="std::vector<std::pair|&lt;std::pair/);
  assert.match(text, /href="https:\/\/lagtrap\.example\/event\//);
  const pictures = [...text.matchAll(/<img [^>]*>/g)].map(([picture]) => picture);
  assert.equal(pictures.length, 2);
  assert.match(pictures[0], /src="data:image\/png;light"/);
  assert.match(pictures[0], /alt="Flame graph, 7 nodes"/);
  assert.match(pictures[0], /width="600" height="300"/);
  assert.match(pictures[1], /alt="Timeline of the thread"/);
  assert.match(text, /Saved from https:\/\/lagtrap\.example\/bundle\/a{64}\/3\?state=all at /);
  assert.match(text, / at 2026-11-24 13:34:56 Europe\/Vienna\./);
  assert.deepEqual(revoked, []);
  await pass(60e3);
  assert.deepEqual(revoked, ["blob:1"]);
});

test("whatever only works on the page is left out", async () => {
  await openDelay();
  const classes =
    "actions title-links help hand-over neighbours flame-height panel-aside flame-controls";
  const tags = "button form select input label nav script";
  find("main").insertAdjacentHTML(
    "beforeend",
    classes
      .split(" ")
      .map((name) => `<div class="${name}">gone</div>`)
      .join("") +
      tags
        .split(" ")
        .map((tag) => `<${tag} title="gone"></${tag}>`)
        .join("") +
      '<details class="keys">gone</details><details class="sub">stays</details>',
  );
  const text = await savedNow();
  assert.doesNotMatch(text, /gone/);
  assert.match(text, /<details class="sub">stays/);
});

test("in the dark, pictures are saved light, and the page stays dark", async () => {
  document.documentElement.dataset.theme = "dark";
  const text = await saved();
  assert.match(text, /data:image\/png;light/);
  assert.doesNotMatch(text, /data:image\/png;dark/);
  assert.equal(document.documentElement.dataset.theme, "dark");
  document.documentElement.dataset.theme = "light";
});

test("a picture without a size is empty, of whichever side", async () => {
  for (const side of ["width", "height"] as const) {
    await openDelay();
    const canvas = document.querySelectorAll("canvas")[1];
    canvas[side] = 0;
    const pictures = [...(await savedNow()).matchAll(/<img [^>]*>/g)].map(([picture]) => picture);
    assert.match(pictures[0], /src="data:image/);
    assert.match(pictures[1], /src="data:,"/);
  }
});

test("pictures have the text of their chart, or of what is around them", async () => {
  await openDelay();
  const canvases = [...document.querySelectorAll("canvas")];
  canvases[0].setAttribute("aria-label", "its own");
  canvases[1].closest("[aria-label]")?.setAttribute("aria-label", "of the box");
  canvases[1].removeAttribute("aria-label");
  const alone = document.createElement("canvas");
  find("main").append(alone);
  const alts = [...(await savedNow()).matchAll(/<img [^>]*alt="([^"]*)"/g)].map(([, alt]) => alt);
  assert.deepEqual(alts, ["its own", "of the box", ""]);
});
