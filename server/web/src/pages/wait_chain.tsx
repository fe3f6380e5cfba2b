// The threads that waited for each other in a delay, with what each did during it.
import { colourOfState } from "../colours";
import { formatDuration } from "../format";
import { FunctionName, Section, Swatch } from "../parts";
import type { WaitChain } from "../types";

type Link = WaitChain[number];

const states: Record<string, string> = { c: "on CPU", r: "runnable", b: "blocked", u: "unknown" };
// Running is tall, waiting for a CPU half, blocked low, so that the state shows even without
// colour.
const heights: Record<string, number> = { c: 16, r: 11, b: 6, u: 3 };

function describe(link: Link): string {
  if (link.state === "unknown") return "not recorded";
  if (link.state === "runnable") return "waiting for a CPU";
  return link.state === "blocked" ? `waiting: ${link.reason || "reason unknown"}` : "on CPU";
}

// Equal neighbours are one rectangle.
function Strip({ link }: { link: Link }) {
  const parts = [...link.strip.matchAll(/(.)\1*/g)];
  return (
    <svg
      class="strip"
      viewBox={`0 0 ${Math.max(1, link.strip.length)} 16`}
      preserveAspectRatio="none"
      aria-hidden="true">
      {parts.map(({ 0: text, 1: letter, index }) => (
        <rect
          key={index}
          x={index}
          width={text.length}
          y={16 - heights[letter]}
          height={heights[letter]}
          fill={colourOfState(
            states[letter],
            letter === "b" && link.state === "blocked" ? link.reason : "",
          )}
        />
      ))}
    </svg>
  );
}

export function WaitChainView({ chain }: { chain: WaitChain }) {
  const [first] = chain;
  const processes = new Set(chain.map((link) => link.pid));
  const used = Object.keys(states).filter((letter) =>
    chain.some((link) => link.strip.includes(letter)),
  );
  return (
    <Section title="Who waited for whom" id="chain">
      <ol class="wait-chain" data-testid="wait-chain">
        {chain.map((link, place) => (
          <li key={place}>
            <p>
              {place > 0 && (
                <span title={link.likely ? "Probably waited for: nothing proves it" : "waited for"}>
                  ← {link.likely && "probably "}
                </span>
              )}
              <strong title={`${link.process} (${link.pid}), thread ${link.tid}`}>
                {processes.size > 1 && link.process !== link.thread
                  ? `${link.process} / ${link.thread}`
                  : link.thread}
              </strong>
              {link.tid > 0 && <span class="muted"> ({link.tid})</span>}, {describe(link)}
              {link.function !== "" && (
                <>
                  {" "}
                  in <FunctionName name={link.function} />
                </>
              )}{" "}
              <span class="muted">
                {formatDuration(link.time_ns)} of {formatDuration(link.whole_ns)}
              </span>
            </p>
            <Strip link={link} />
          </li>
        ))}
      </ol>
      <p class="key">
        Each strip spans the {formatDuration(first.whole_ns)} of the delay:{" "}
        {used.map((letter, place) => (
          <span key={letter}>
            {place > 0 && ", "}
            <Swatch
              colour={colourOfState(
                states[letter],
                letter === "b"
                  ? (chain.find((link) => link.state === "blocked")?.reason ?? "")
                  : "",
              )}
            />{" "}
            {letter === "r" ? "waiting for a CPU" : states[letter]}
          </span>
        ))}
        . An arrow points to the thread that waited.
      </p>
    </Section>
  );
}
