// The calls of a delay's run, one by one.
import { state_colours } from "../colours";
import { formatCount, formatDuration, formatShare } from "../format";
import { FunctionName, Section, SourcePlace, Scroll } from "../parts";
import type { RunCalls } from "../types";

const deepest_indent = 20;

export function RunCallsView({ calls }: { calls: RunCalls }) {
  const whole_ns = Math.max(1, calls.longest[0]?.wall_ns ?? 1);
  const left_out = calls.count - calls.longest.length;
  return (
    <Section
      title="Calls"
      aside={<span class="muted">this run only; probe overhead excluded</span>}>
      <div>
        <Scroll label="Calls of the run">
          <table class="list calls" data-testid="calls">
            <thead>
              <tr>
                <th class="number">Time</th>
                <th class="number">Share</th>
                <th class="number">Own time</th>
                <th>When</th>
                <th>Function</th>
              </tr>
            </thead>
            <tbody>
              {calls.longest.map((call, number) => (
                <CallRow key={number} call={call} whole_ns={whole_ns} />
              ))}
            </tbody>
          </table>
        </Scroll>
      </div>
      {left_out > 0 && (
        <p class="muted">
          and {formatCount(left_out)} shorter {left_out === 1 ? "call" : "calls"}; the trace
          contains all of them
        </p>
      )}
    </Section>
  );
}

function CallRow({ call, whole_ns }: { call: RunCalls["longest"][number]; whole_ns: number }) {
  const on_cpu_ns = Math.max(0, call.wall_ns - call.runnable_ns - call.blocked_ns);
  const parts = [
    { text: "on CPU", ns: on_cpu_ns, colour: state_colours["on CPU"] },
    { text: "waiting for a CPU", ns: call.runnable_ns, colour: state_colours.runnable },
    { text: "blocked", ns: call.blocked_ns, colour: state_colours.blocked },
  ].filter((part) => part.ns > 0);
  const said = parts.map((part) => `${part.text} ${formatDuration(part.ns)}`).join(", ");
  const begin = Math.min(1, call.begin_ns / whole_ns);
  return (
    <tr>
      <td class="number">{formatDuration(call.wall_ns)}</td>
      <td class="number">{formatShare(Math.min(1, call.wall_ns / whole_ns))}</td>
      <td class="number">{formatDuration(call.own_ns)}</td>
      <td class="when" title={said}>
        <span
          class="bar"
          style={{
            marginLeft: `${100 * begin}%`,
            width: `${100 * Math.min(1 - begin, call.wall_ns / whole_ns)}%`,
          }}>
          {parts.map((part) => (
            <span key={part.text} style={{ flexGrow: part.ns, backgroundColor: part.colour }} />
          ))}
        </span>
      </td>
      <td
        class="code"
        style={{ paddingLeft: `${0.5 + Math.min(call.depth, deepest_indent)}em` }}
        title={`${call.name}\n${call.module}`}>
        <FunctionName name={call.name} still />
        <SourcePlace place={call.source ?? ""} />
        {!call.returned && <span class="muted"> unfinished</span>}
      </td>
    </tr>
  );
}
