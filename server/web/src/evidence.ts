// Where the evidence for a sentence about a cause stands on the page of the delay.

// " in ReadWholeTable", but not "in 5 sleeps" or "in its run".
const places = /\bin ([A-Za-z_~<$][^\s,;()]*)/g;
const no_functions = new Set([
  "a",
  "all",
  "an",
  "another",
  "any",
  "it",
  "its",
  "one",
  "that",
  "the",
  "this",
  "which",
]);

// The function that a sentence names first; null if it names none.
export function functionIn(sentence: string): string | null {
  for (const [, found] of sentence.matchAll(places)) {
    const name = found.replace(/[.:]+$/, "");
    if (!no_functions.has(name.toLowerCase())) return name;
  }
  return null;
}
