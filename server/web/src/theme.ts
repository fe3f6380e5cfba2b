// Light or dark: the system's setting unless the reader chose.
import { useEffect, useState } from "preact/hooks";
import { type Theme, currentTheme } from "./colours";

export type ThemeChoice = "system" | "light" | "dark";
const choices: ThemeChoice[] = ["system", "light", "dark"];
const listeners = new Set<() => void>();

function stored(): ThemeChoice {
  try {
    const value = window.localStorage.getItem("lagtrap-theme");
    return choices.includes(value as ThemeChoice) ? (value as ThemeChoice) : "system";
  } catch {
    return "system"; // the browser has no storage
  }
}

function apply(choice: ThemeChoice): void {
  const dark =
    choice === "dark" ||
    (choice === "system" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  for (const listener of [...listeners]) listener();
}

export function startTheme(): void {
  apply(stored());
  window
    .matchMedia("(prefers-color-scheme: dark)")
    .addEventListener("change", () => apply(stored()));
}

export function useThemeChoice(): [ThemeChoice, () => void] {
  const [choice, setChoice] = useState(stored);
  const next = () => {
    const chosen = choices[(choices.indexOf(choice) + 1) % choices.length];
    try {
      window.localStorage.setItem("lagtrap-theme", chosen);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    setChoice(chosen);
    apply(chosen);
  };
  return [choice, next];
}

// Runs `work` while all pictures are drawn in light colours.
export async function inLight<T>(work: () => T): Promise<T> {
  const before = document.documentElement.dataset.theme;
  const show = async (theme: string | undefined) => {
    document.documentElement.dataset.theme = theme;
    for (const listener of [...listeners]) listener();
    // Components render in one frame and draw in the next.
    for (let frames = 0; frames < 3; ++frames)
      await new Promise((resolve) => requestAnimationFrame(resolve));
  };
  if (before === "light") return work();
  await show("light");
  try {
    return work();
  } finally {
    await show(before);
  }
}

// The current colours; rerenders the component when they change.
export function useTheme(): Theme {
  const [theme, setTheme] = useState(currentTheme);
  useEffect(() => {
    const listener = () => setTheme(currentTheme());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return theme;
}
