// The colours of pictures. Each colour has one meaning on all pages; a unit test checks that no two
// palettes share one. Red and green never carry a meaning alone.

// Stages: Paul Tol's "muted" palette, distinguishable with all common colour deficiencies.
export const stage_colours = [
  "#332288",
  "#88ccee",
  "#44aa99",
  "#ddcc77",
  "#cc6677",
  "#999933",
  "#aa4499",
  "#882255",
];
export const other_stages_colour = "#c3c7cc";

// Where time goes. Reasons of waiting have their own colours below.
export const state_colours: Record<string, string> = {
  "on CPU": "#009e73",
  runnable: "#e69f00",
  throttled: "#f0e442", // runnable, without CPU quota
  blocked: "#3b5b92", // unknown reasons and all others
  "handed over": "#b2a07a",
  unknown: "#a3a9b0",
};

// By the beginning of the reason; the first match counts.
export const reason_colours: [string, string][] = [
  ["lock (futex)", "#0072b2"],
  ["lock in the kernel", "#3e92c7"],
  ["file lock", "#1f4e79"],
  ["lock", "#6aa5cf"],
  ["disk", "#cc79a7"],
  ["page fault", "#b3588a"],
  ["freeing memory", "#8c6bb1"],
  ["memory limit", "#6a4c93"],
  ["network", "#56b4e9"],
  ["local socket", "#8fd3f4"],
  ["socket", "#2f9fc4"],
  ["pipe", "#a6761d"],
  ["message queue", "#c49a4a"],
  ["events", "#7d8f2a"],
  ["child process", "#6d4c41"],
  ["signal", "#9e7b6b"],
  ["sleep", "#5b6b8c"],
];

export function colourOfReason(reason: string): string {
  return (
    reason_colours.find(([beginning]) => reason.startsWith(beginning))?.[1] ?? state_colours.blocked
  );
}

// The colour of a thread's state and of what it waits for.
export function colourOfState(state: string, reason: string): string {
  return state === "blocked"
    ? colourOfReason(reason)
    : (state_colours[state] ?? state_colours.unknown);
}

export const set_colours = { a: "#004488", b: "#bb5566" };
// Runs within and over their threshold.
export const run_colours = { in_time: "#6f8ba3", late: "#d55e00" };

export interface Theme {
  text: string;
  muted: string;
  line: string;
  surface: string;
  accent: string;
  dark: boolean;
}

// The style sheet's current colours, for canvases.
export function currentTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: colour("--text"),
    muted: colour("--muted"),
    line: colour("--line"),
    surface: colour("--surface"),
    accent: colour("--accent"),
    dark: style.getPropertyValue("color-scheme").trim() === "dark",
  };
}
