// Folds frames that say little: of each chain of kernel frames or of libc frames only one is kept.
// Draws nothing.
import { baseName } from "../format";
import { type FlameTree, kind_kernel, kind_user, treeOfNodes } from "./tree";

const libc =
  /^(libc|libpthread|libdl|librt|ld|ld-linux.*|ld-musl.*|linux-vdso.*)(-2\.\d+)?(\.so.*)?$/;
// Every system call and interrupt passes through these.
const kernel_entry =
  /^(entry_|do_syscall_|x64_sys_call$|asm_|ret_from_fork|common_interrupt$|sysvec_)/;

export function isLibc(module: string): boolean {
  return module === "[vdso]" || module === "[vsyscall]" || libc.test(baseName(module));
}

// The kept frame is the outermost: the libc function that the program called, and the first kernel
// function after the entry code. The time of the others is its own.
export function foldTree(tree: FlameTree): FlameTree {
  const of_libc = tree.names.map((name) => isLibc(name.module));
  const of_entry = tree.names.map((name) => kernel_entry.test(name.function));
  const place = new Int32Array(tree.parent.length); // in the folded tree
  const known = new Map<number, number>(); // by parent, name and kind
  const parent: number[] = [-1];
  const name: number[] = [tree.name[0]];
  const value: number[] = [tree.value[0]];
  const baseline: number[] = [tree.baseline[0]];
  const kind: number[] = [tree.kind[0]];
  const width = tree.names.length * 4;
  for (let node = 1; node < tree.parent.length; ++node) {
    const above = place[tree.parent[node]];
    const is_kernel = tree.kind[node] === kind_kernel;
    const hidden = is_kernel
      ? of_entry[tree.name[node]] || kind[above] === kind_kernel
      : tree.kind[node] === kind_user &&
        of_libc[tree.name[node]] &&
        kind[above] === kind_user &&
        above > 0 &&
        of_libc[name[above]];
    if (hidden) {
      place[node] = above;
      continue;
    }
    const key = above * width + tree.name[node] * 4 + tree.kind[node];
    let kept = known.get(key);
    if (kept === undefined) {
      kept = parent.length;
      known.set(key, kept);
      parent.push(above);
      name.push(tree.name[node]);
      value.push(0);
      baseline.push(0);
      kind.push(tree.kind[node]);
    }
    value[kept] += tree.value[node];
    baseline[kept] += tree.baseline[node];
    place[node] = kept;
  }
  return treeOfNodes({ parent, name, value, baseline, kind }, tree);
}
