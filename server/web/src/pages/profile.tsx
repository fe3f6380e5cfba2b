// A delay's flame graph with its controls, and the stacks that took most time. All choices are in
// the address.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useSearchKey } from "../drawing/surface";
import { difference_steps, legendOf } from "../flame/colours";
import { labelOf } from "../flame/draw";
import { FlameGraph } from "../flame/flame_graph";
import type { Width } from "../flame/layout";
import { foldTree } from "../flame/fold";
import {
  type FlameTree,
  type Matches,
  invertTree,
  largestMatch,
  readTree,
  searchTree,
  topStacks,
} from "../flame/tree";
import { baseName, formatCount, formatDuration, formatShare, plural } from "../format";
import { useGet } from "../load";
import { foldName } from "../names";
import { Choice, Empty, FunctionName, Ready, Section, Swatch } from "../parts";
import { type Place, setQuery } from "../router";
import { useTheme } from "../theme";
import type { Delay, Flame } from "../types";
import { useTyped } from "../typing";

type State = "all" | "on-cpu" | "off-cpu";

// The part of the time that the address asks for.
export function stateOf(place: Place): State {
  const asked = place.query.get("state");
  return asked === "on-cpu" || asked === "off-cpu" ? asked : "all";
}

export function Profile({ digest, delay, place }: { digest: string; delay: Delay; place: Place }) {
  const state = stateOf(place);
  const against = place.query.get("against") === "normal";
  const path =
    `/api/v1/bundles/${digest}/delays/${delay.number}/profile?state=${state}` +
    `${against ? "&against=normal" : ""}`;
  const loaded = useGet<Flame>(path);
  return (
    <Section
      title="Flame graph"
      id="flame"
      aside={
        <>
          <Choice<State>
            label="Time shown"
            value={state}
            options={[
              ["all", "all time"],
              ["on-cpu", "on CPU"],
              ["off-cpu", "off CPU"],
            ]}
            onChoose={(value) =>
              setQuery({ state: value === "all" ? undefined : value, zoom: undefined })
            }
          />
          <Choice<"no" | "normal">
            label="Colours"
            value={against ? "normal" : "no"}
            options={[
              ["no", "by module"],
              ["normal", "against normal runs"],
            ]}
            onChoose={(value) =>
              setQuery({
                against: value === "normal" ? "normal" : undefined,
                width: undefined,
                zoom: undefined,
              })
            }
          />
        </>
      }>
      <Ready of={loaded} height={420}>
        {(flame) =>
          flame.nodes.length <= 1 ? (
            <Empty title="No call stacks for this part of the time.">
              <p>
                {state === "all"
                  ? 'See "Recording quality" below.'
                  : 'Choose "all time" to see the rest.'}
              </p>
            </Empty>
          ) : (
            <Graph flame={flame} against={against} place={place} />
          )
        }
      </Ready>
    </Section>
  );
}

interface Searched {
  tree: FlameTree;
  whole: FlameTree; // never folded or inverted
  found: Matches | string | null;
  folded: boolean;
}

// Folded frames are shown if only they match the search.
function useTree(
  flame: Flame,
  wanted: { inverted: boolean; folded: boolean },
  text: string,
): Searched {
  const whole = useMemo(() => readTree(flame), [flame]);
  const turned = useMemo(
    () => (wanted.inverted ? invertTree(whole) : whole),
    [whole, wanted.inverted],
  );
  const folded = useMemo(() => {
    if (!wanted.folded) return turned;
    return wanted.inverted ? invertTree(foldTree(whole)) : foldTree(whole);
  }, [whole, turned, wanted.inverted, wanted.folded]);
  return useMemo(() => {
    const found = searchTree(folded, text);
    if (found === null || typeof found === "string" || found.nodes.length > 0)
      return { tree: folded, whole, found, folded: wanted.folded };
    const found_in_all = searchTree(turned, text);
    const only_there =
      found_in_all !== null && typeof found_in_all !== "string" && found_in_all.nodes.length > 0;
    return only_there
      ? { tree: turned, whole, found: found_in_all, folded: false }
      : { tree: folded, whole, found, folded: wanted.folded };
  }, [folded, turned, whole, text, wanted.folded]);
}

function Graph({ flame, against, place }: { flame: Flame; against: boolean; place: Place }) {
  const inverted = place.query.get("view") === "inverted";
  const width: Width =
    against && flame.baseline_total !== null && place.query.get("width") === "normal"
      ? "baseline"
      : "value";
  const query = place.query.get("search") ?? "";
  const [text, setText] = useTyped(query, 300, (search) => setQuery({ search }, "replace"));
  const { tree, whole, found, folded } = useTree(
    flame,
    { inverted, folded: place.query.get("frames") !== "all" },
    text,
  );
  // Index -1: not stepped to.
  const [reveal, setReveal] = useState<{ node: number; index: number } | null>(null);
  const box = useRef<HTMLInputElement>(null);
  const matches = found !== null && typeof found !== "string" ? found : null;
  const zoom_text = place.query.get("zoom") ?? "0";
  const zoomed =
    /^\d{1,5}$/.test(zoom_text) && Number(zoom_text) < tree.parent.length ? Number(zoom_text) : 0;
  // Opens at the match with the most time.
  useEffect(() => {
    const node = largestMatch(tree, matches);
    setReveal(node < 0 ? null : { node, index: -1 });
  }, [tree, matches]);
  useSearchKey(box);
  const step = (direction: number) => {
    if (!matches || matches.nodes.length === 0) return;
    const index =
      reveal === null || (reveal.index < 0 && direction > 0)
        ? 0
        : (Math.max(0, reveal.index) + direction + matches.nodes.length) % matches.nodes.length;
    setReveal({ node: matches.nodes[index], index });
  };
  const zoom = (node: number) =>
    setQuery({ zoom: node === 0 ? undefined : String(node) }, "replace");
  return (
    <>
      <div class="flame-controls">
        <label class="field grow">
          <span>Search</span>
          <input
            ref={box}
            type="search"
            name="flame-search"
            value={text}
            placeholder="function or module, or /expression/"
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              event.preventDefault();
              step(event.shiftKey ? -1 : 1);
            }}
          />
        </label>
        <span class="found" data-testid="flame-found" role="status">
          {typeof found === "string" ? (
            <span class="problem">{found}</span>
          ) : matches ? (
            `${formatShare(Math.min(1, matches.value / Math.max(1, tree.total)))} in ` +
            `${plural(matches.nodes.length, "match", "matches")}` +
            `${reveal && reveal.index >= 0 ? `, at ${reveal.index + 1}` : ""}`
          ) : (
            ""
          )}
        </span>
        <button
          type="button"
          disabled={!matches || matches.nodes.length === 0}
          onClick={() => step(-1)}
          aria-label="Previous match">
          ↑
        </button>
        <button
          type="button"
          disabled={!matches || matches.nodes.length === 0}
          onClick={() => step(1)}
          aria-label="Next match">
          ↓
        </button>
        <Choice<"calls" | "inverted">
          label="Direction"
          value={inverted ? "inverted" : "calls"}
          options={[
            ["calls", "callers first"],
            ["inverted", "inverted"],
          ]}
          onChoose={(value) =>
            setQuery({ view: value === "inverted" ? value : undefined, zoom: undefined })
          }
        />
        <Choice<"folded" | "all">
          label="Kernel and libc"
          value={folded ? "folded" : "all"}
          options={[
            ["folded", "kernel and libc folded"],
            ["all", "all frames"],
          ]}
          onChoose={(value) =>
            setQuery({ frames: value === "all" ? value : undefined, zoom: undefined })
          }
        />
        {against && flame.baseline_total !== null && (
          <Choice<Width>
            label="Width"
            value={width}
            options={[
              ["value", "width: this delay"],
              ["baseline", "width: normal"],
            ]}
            onChoose={(value) => setQuery({ width: value === "baseline" ? "normal" : undefined })}
          />
        )}
        <button type="button" disabled={zoomed === 0} onClick={() => zoom(0)}>
          Whole graph
        </button>
      </div>
      {against && flame.baseline_total === null && (
        <p class="muted">
          No normal run of this event was recorded, so there is nothing to compare with. Runs within
          the threshold count if they fall into any recording.
        </p>
      )}
      <FlameGraph
        tree={tree}
        width={width}
        difference={against && flame.baseline_total !== null}
        matches={matches}
        zoomed={zoomed}
        onZoom={zoom}
        reveal={reveal}
        label={
          `Flame graph, ${formatCount(tree.parent.length)} ` +
          `nodes${inverted ? ", inverted" : ""}`
        }
      />
      <div class="below-bars">
        <Legend difference={against && flame.baseline_total !== null} runs={flame.baseline_runs} />
        {flame.dropped > 0 && (
          <span class="muted">
            {plural(flame.dropped, "node")} too small to show; their time is included in their
            callers.
          </span>
        )}
        <details class="keys">
          <summary>Keys</summary>
          <p id="flame-keys">
            Arrows: caller, callee, neighbours. Enter: zoom. Backspace: zoom out to the caller.
            Escape: whole graph. /: search; Enter there: next match.
          </p>
        </details>
      </div>
      <TopStacks tree={whole} />
    </>
  );
}

export function DifferenceLegend({ than }: { than: string }) {
  const colours = legendOf(useTheme().dark);
  return (
    <span class="key" data-testid="difference-legend">
      {[...colours.less].reverse().map((colour) => (
        <Swatch key={colour} colour={colour} />
      ))}{" "}
      less <Swatch colour={colours.same} /> within {formatShare(difference_steps[0])}{" "}
      {colours.more.map((colour) => (
        <Swatch key={colour} colour={colour} />
      ))}{" "}
      more than {than}
    </span>
  );
}

function Legend({ difference, runs }: { difference: boolean; runs?: number }) {
  const theme = useTheme();
  const colours = legendOf(theme.dark);
  if (difference)
    return (
      <DifferenceLegend
        than={`in ${runs === undefined ? "normal runs" : plural(runs, "normal run")}`}
      />
    );
  return (
    <span class="key">
      <Swatch colour={colours.user} /> user code (one tint per module){" "}
      <Swatch colour={colours.kernel} /> kernel <Swatch colour={colours.run_time} /> JIT code{" "}
      <Swatch colour={colours.state} /> waiting or unknown
    </span>
  );
}

function TopStacks({ tree }: { tree: FlameTree }) {
  const stacks = useMemo(() => topStacks(tree, 15), [tree]);
  const nameOf = (node: number) => labelOf(tree, node);
  return (
    <div class="sub" role="region" aria-label="Top stacks">
      <h3>Top stacks</h3>
      <table class="list compact stacks" data-testid="top-stacks">
        <thead>
          <tr>
            <th scope="col" class="number">
              Time
            </th>
            <th scope="col" class="number">
              Share
            </th>
            <th scope="col">Call stack, innermost first</th>
          </tr>
        </thead>
        <tbody>
          {stacks.map((stack) => (
            <tr key={stack.node}>
              <td class="number">{formatDuration(stack.value)}</td>
              <td class="number">
                {formatShare(Math.min(1, stack.value / Math.max(1, tree.total)))}
              </td>
              <td>
                <details>
                  <summary class="code">
                    {stack.path
                      .slice(0, 3)
                      .map((node) => foldName(nameOf(node)))
                      .join(" ← ")}
                  </summary>
                  <ol class="stack">
                    {stack.path.map((node) => (
                      <li key={node}>
                        <FunctionName name={nameOf(node)} />
                        <span class="muted">{baseName(tree.names[tree.name[node]].module)}</span>
                      </li>
                    ))}
                  </ol>
                </details>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
