// The globals of a browser for the pages, made by happy-dom. Import it before anything of the
// pages, because some of their modules read the document when they are loaded.
import { Window } from "happy-dom";
import { drawingOf } from "./canvas";
import { takeClock, takeDate } from "./clock";

process.env.TZ = "Europe/Vienna"; // an hour ahead of UTC in winter

const width = 600; // of every box on the screen
const height = 300;

export const dom = new Window({
  url: "https://lagtrap.example/",
  settings: {
    disableJavaScriptFileLoading: true,
    navigation: { disableMainFrameNavigation: true, disableFallbackToSetURL: true },
  },
});

// What the style sheet gives, by its names.
function styles() {
  return {
    getPropertyValue: (name: string) =>
      name === "color-scheme"
        ? (document.documentElement.dataset.theme ?? "light")
        : name.replace("--", ""),
  };
}

for (const [name, word] of [
  ["pushState", "pushed"],
  ["replaceState", "replaced"],
] as const) {
  const change = dom.history[name].bind(dom.history);
  dom.history[name] = (state, title, address) => {
    visited.push(`${word} ${address}`);
    change(state, title, address);
  };
}

class NeverResized {
  observe(): void {}
  disconnect(): void {}
}

export const scrolled: string[] = []; // ids of elements brought into sight
export const visited: string[] = []; // changes of the address
export const system = { dark: false, changed: () => {} };

function give(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

for (const name of [
  "document",
  "location",
  "history",
  "localStorage",
  "navigator",
  "Element",
  "HTMLElement",
  "Node",
  "MutationObserver",
  "Event",
  "KeyboardEvent",
  "MouseEvent",
] as const)
  give(name, dom[name]);
give("window", dom);
// happy-dom would forget observers of mutations when memory is collected; browsers keep them.
give(
  "WeakRef",
  class {
    constructor(private readonly held: unknown) {}
    deref() {
      return this.held;
    }
  },
);
Object.assign(dom, {
  ResizeObserver: NeverResized,
  getComputedStyle: styles,
  scrollTo: () => scrolled.push("the page's top"),
  innerHeight: 900,
  matchMedia: () => ({
    get matches() {
      return system.dark;
    },
    addEventListener: (_: string, call: () => void) => (system.changed = call),
  }),
});
give("getComputedStyle", styles);
give("ResizeObserver", NeverResized);
takeClock(globalThis);
takeClock(dom);
takeDate();

const element = dom.HTMLElement.prototype;
for (const [name, value] of [
  ["clientWidth", width],
  ["clientHeight", height],
] as const)
  Object.defineProperty(element, name, { get: () => value, configurable: true });
const scroll = new WeakMap<object, number>();
Object.defineProperty(dom.Element.prototype, "scrollTop", {
  configurable: true,
  get(this: object) {
    return scroll.get(this) ?? 0;
  },
  set(this: object, top: number) {
    scroll.set(this, Math.max(0, top));
  },
});
Object.assign(element, {
  getBoundingClientRect: () => ({ left: 0, top: 0, width, height, right: width, bottom: height }),
  scrollIntoView(this: { id: string }) {
    scrolled.push(this.id);
  },
});
// Parts of tables, which happy-dom does not know.
const childrenOf = (...tags: string[]) => ({
  configurable: true,
  get(this: Element) {
    return [...this.children].filter((child) => tags.includes(child.tagName));
  },
});
Object.defineProperties(element, {
  rows: childrenOf("TR"),
  cells: childrenOf("TH", "TD"),
  tBodies: childrenOf("TBODY"),
  tHead: {
    configurable: true,
    get(this: Element) {
      return this.querySelector("thead");
    },
  },
});
// happy-dom's forms are not identical to the parents of what they contain.
dom.HTMLFormElement.prototype.contains = function (this: typeof element, other) {
  return [...this.querySelectorAll("*")].includes(other as never);
};
dom.HTMLCanvasElement.prototype.getContext = function (this: object) {
  return drawingOf(this) as never;
};
