// Shortens long function names: template arguments say little and may have hundreds of letters.

// Frames of causes that are states: "[sleep]", "[waits for a CPU]".
export function isState(frame: { function: string; module: string }): boolean {
  return frame.module === "" && /^\[.+\]$/.test(frame.function);
}

const states = ["waits for a CPU", "on CPU", "not recorded", "other"];

// The function, or the state as the flame graph calls it: "blocked: sleep" for "[sleep]".
export function stateName(frame: { function: string; module: string }): string {
  if (!isState(frame)) return frame.function;
  const state = frame.function.slice(1, -1);
  return states.includes(state) ? state : `blocked: ${state}`;
}

// Cached because a flame graph draws its names again whenever the mouse moves.
const folded_names = new Map<string, string>();
const max_names = 20000;
const max_arguments = 10; // "vector<int>" stays as it is
const part_of_name = /[A-Za-z0-9_$]/;
const operators = /^operator(?:<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|<|>)/;

// Where the bracket opened at `begin` closes; -1 if nowhere.
function closing(name: string, begin: number): number {
  let depth = 0;
  for (let at = begin; at < name.length; ++at) {
    const operator = operators.exec(name.slice(at, at + 12));
    if (operator && !part_of_name.test(name[at - 1] ?? " ")) {
      at += operator[0].length - 1;
    } else if (name[at] === "<") {
      ++depth;
    } else if (name[at] === ">" && name[at - 1] !== "-" && --depth === 0) {
      return at;
    }
  }
  return -1;
}

// "std::vector<std::pair<int, long> >::push_back" becomes "std::vector<…>::push_back". Leaves
// everything that is not an argument list: operators, Rust's "<Type as Trait>", markup in hostile
// names, unclosed brackets.
export function foldName(name: string): string {
  if (!name.includes("<")) return name;
  const known = folded_names.get(name);
  if (known !== undefined) return known;
  const folded = fold(name);
  if (folded_names.size >= max_names) folded_names.clear();
  folded_names.set(name, folded);
  return folded;
}

function fold(name: string): string {
  let folded = "";
  for (let at = 0; at < name.length; ++at) {
    const operator = operators.exec(name.slice(at, at + 12));
    if (operator && !part_of_name.test(name[at - 1] ?? " ")) {
      folded += operator[0];
      at += operator[0].length - 1;
      continue;
    }
    const before = name[at - 1] ?? " ";
    const opens =
      name[at] === "<" &&
      (part_of_name.test(before) ||
        (before === ":" && name[at - 2] === ":") ||
        /operator(?:<=>|<<|>>|<|>)$/.test(name.slice(0, at)));
    const end = opens ? closing(name, at) : -1;
    if (end - at - 1 > max_arguments) {
      folded += "<…>";
      at = end;
    } else {
      folded += name[at];
    }
  }
  return folded;
}

// Keeps both ends, because the middle of control groups and paths says least.
export function shortenMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) * 0.6);
  return `${text.slice(0, most - 1 - end)}…${text.slice(text.length - end)}`;
}

// Where the argument list of a function begins; -1 without one. "(anonymous namespace)" and the
// brackets of "operator()" are none.
function argumentsAt(name: string): number {
  let depth = 0; // of template arguments
  for (let at = 1; at < name.length; ++at) {
    if (
      name[at] === "<" &&
      part_of_name.test(name[at - 1]) &&
      !name.slice(0, at).endsWith("operator")
    )
      ++depth;
    else if (name[at] === ">" && depth > 0 && name[at - 1] !== "-") --depth;
    if (name[at] !== "(" || depth > 0 || name.startsWith("(anonymous", at)) continue;
    if (name.startsWith("()", at) && name.slice(0, at).endsWith("operator")) ++at;
    else if (name[at - 1] !== " " && name[at - 1] !== ":") return at;
  }
  return -1;
}

// The positions after each "::" outside brackets.
function scopes(name: string): number[] {
  const found: number[] = [];
  let depth = 0;
  for (let at = 0; at < name.length; ++at) {
    if ("<([{".includes(name[at])) ++depth;
    else if (">)]}".includes(name[at]) && name[at - 1] !== "-") --depth;
    else if (depth === 0 && name.startsWith("::", at)) found.push(at + 2);
  }
  return found;
}

// A name in at most `most` letters: without arguments, then without outer namespaces, then without
// short template arguments, and only then with letters cut.
export function fitName(name: string, most: number): string {
  if (name.length <= most) return name;
  let text = name;
  const begin = argumentsAt(text);
  if (begin > 0) text = `${text.slice(0, begin)}(…)`;
  if (text.length <= most) return text;
  for (const at of scopes(text)) if (text.length - at + 3 <= most) return `…::${text.slice(at)}`;
  const last = scopes(text).at(-1);
  if (last !== undefined) text = `…::${text.slice(last)}`;
  text = text.replace(/([\w$])<[^<>…]*>/g, "$1<…>");
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

// As the server matches: each "*" stands for any text.
export function fitsPattern(pattern: string, name: string): boolean {
  const [first, ...others] = pattern.split("*");
  const last = others.pop() ?? "";
  let at = first.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.startsWith(first) && name.endsWith(last) && name.length - last.length >= at;
}

// The longest text that every name has that the pattern matches.
export function longestPart(pattern: string): string {
  return pattern
    .split("*")
    .reduce((longest, part) => (part.length > longest.length ? part : longest));
}
