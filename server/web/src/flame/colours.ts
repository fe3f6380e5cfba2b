// The colour of each flame graph node: by module, or by the difference from normal runs.
import { type FlameTree, kind_kernel, kind_run_time, kind_state } from "./tree";

export interface NodeColours {
  palette: string[];
  of: Uint8Array; // index into the palette, by node
}

const light = {
  user: ["#a9c9ea", "#b9dcc7", "#d3c7ea", "#bfe0e6", "#e9cfdc", "#d9dcb4"],
  kernel: "#f2c38b",
  run_time: "#e5b7d5",
  state: "#d3d7db",
  root: "#e3e6e9",
  more: ["#fbe3d0", "#f4bd8f", "#ea9a55", "#de7d2b"],
  less: ["#d5e6f4", "#a9cde9", "#7db3dd", "#559ad0"],
  same: "#dadde0",
};
const dark = {
  user: ["#355a80", "#37634c", "#54487a", "#32616c", "#6b4459", "#5b5f35"],
  kernel: "#8a5a20",
  run_time: "#7c4668",
  state: "#4a5058",
  root: "#3a4047",
  more: ["#503a2c", "#6f4622", "#905017", "#b05a0c"],
  less: ["#2d4456", "#2c5272", "#2b628f", "#2b73ad"],
  same: "#474c52",
};

// Equal names get equal colours on every page.
function hash(text: string): number {
  let state = 2166136261;
  for (let index = 0; index < text.length; ++index)
    state = Math.imul(state ^ text.charCodeAt(index), 16777619);
  return state >>> 0;
}

export function moduleColours(tree: FlameTree, is_dark: boolean): NodeColours {
  const set = is_dark ? dark : light;
  const palette = [set.root, set.kernel, set.run_time, set.state, ...set.user];
  const by_name = tree.names.map((name) => 4 + (hash(name.module) % set.user.length));
  const of = new Uint8Array(tree.parent.length);
  for (let node = 1; node < of.length; ++node) {
    const kind = tree.kind[node];
    of[node] =
      kind === kind_kernel
        ? 1
        : kind === kind_run_time
          ? 2
          : kind === kind_state
            ? 3
            : by_name[tree.name[node]];
  }
  return { palette, of };
}

// Steps of the difference as a share of the delay's time. Differences below the first step are
// grey: too small to matter.
export const difference_steps = [0.005, 0.05, 0.15, 0.4];

export function differenceColours(tree: FlameTree, is_dark: boolean): NodeColours {
  const set = is_dark ? dark : light;
  const palette = [set.same, ...set.more, ...set.less];
  const of = new Uint8Array(tree.parent.length);
  const whole = Math.max(tree.total, tree.baseline_total ?? 0, 1);
  for (let node = 0; node < of.length; ++node) {
    const share = (tree.value[node] - tree.baseline[node]) / whole;
    const size = Math.abs(share);
    let step = 0;
    while (step < difference_steps.length && size >= difference_steps[step]) ++step;
    if (step > 0) of[node] = share > 0 ? step : 4 + step;
  }
  return { palette, of };
}

export function legendOf(is_dark: boolean) {
  const set = is_dark ? dark : light;
  return {
    user: set.user[0],
    kernel: set.kernel,
    run_time: set.run_time,
    state: set.state,
    more: set.more,
    less: set.less,
    same: set.same,
  };
}
