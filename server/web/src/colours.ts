// The colours of pictures. The series are Okabe and Ito's, which people with any of the common colour
// deficiencies tell apart; red and green never carry a meaning alone.

export const stage_colours = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c6bb1", "#b2a07a",
];
export const other_stages_colour = "#9aa0a6";

export const state_colours: Record<string, string> = {
  "on CPU": "#009e73",
  runnable: "#e69f00",
  blocked: "#0072b2",
  unknown: "#a3a9b0",
};
// Reasons of waiting, so that several in one picture differ.
export const reason_colours = ["#0072b2", "#cc79a7", "#56b4e9", "#8c6bb1", "#d55e00"];

export function colourOfReason(reasons: string[], reason: string): string {
  const index = reasons.indexOf(reason);
  return index < 0 ? state_colours.blocked : reason_colours[index % reason_colours.length];
}

export const set_colours = { a: "#0072b2", b: "#d55e00" };

export interface Theme {
  text: string;
  muted: string;
  line: string;
  surface: string;
  accent: string;
  dark: boolean;
}

// What the style sheet says now, for canvases.
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
