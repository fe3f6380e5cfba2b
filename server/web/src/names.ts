// Shortens long function names: template arguments say little and may have hundreds of letters.

// Cached because a flame graph draws its names again whenever the mouse moves.
const folded_names = new Map<string, string>();
const most_names = 20000;
const longest_arguments = 10; // "vector<int>" stays as it is
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
  if (folded_names.size >= most_names) folded_names.clear();
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
    const opens = name[at] === "<" && (part_of_name.test(before) || (before === ":" && name[at - 2] === ":") || /operator(?:<=>|<<|>>|<|>)$/.test(name.slice(0, at)));
    const end = opens ? closing(name, at) : -1;
    if (end - at - 1 > longest_arguments) {
      folded += "<…>";
      at = end;
    } else {
      folded += name[at];
    }
  }
  return folded;
}
