// Counts and times of all functions of a delay's process while they were traced.
import { formatCount, formatDuration, formatShare, plural } from "../format";
import { foldName } from "../names";
import { FunctionName, Section, SourcePlace, Scroll } from "../parts";
import type { TracedFunctions } from "../types";

export function TracedFunctionsView({ traced }: { traced: TracedFunctions }) {
  const more = traced.called - traced.functions.length;
  return (
    <Section
      title="Traced functions"
      aside={<span class="muted">{span(traced)}; probe overhead excluded</span>}>
      <div>
        <Scroll label="Traced functions">
          <table class="list" data-testid="traced-functions">
            <thead>
              <tr>
                <th class="number">Own time</th>
                <th class="number">Share</th>
                <th class="number">Calls</th>
                <th class="number">Longest call</th>
                <th>Function</th>
                <th>Called through</th>
              </tr>
            </thead>
            <tbody>
              {traced.functions.map((one) => (
                <FunctionRow
                  key={`${one.module} ${one.name}`}
                  one={one}
                  whole_ns={Math.max(1, traced.own_ns)}
                />
              ))}
            </tbody>
          </table>
        </Scroll>
      </div>
      {more > 0 && (
        <p class="muted">
          and {formatCount(more)} more {more === 1 ? "function" : "functions"}
        </p>
      )}
      <p class="muted">{losses(traced)}</p>
    </Section>
  );
}

function span(traced: TracedFunctions): string {
  const before =
    traced.before_breach_ns > 0
      ? `, ${formatDuration(traced.before_breach_ns)} of it before the breach`
      : "";
  return (
    `${formatCount(traced.watched)} functions traced for ` +
    `${formatDuration(traced.length_ns)}${before}`
  );
}

function losses(traced: TracedFunctions): string {
  const said = [
    `The trace contains ${plural(traced.reported, "call")} of ${formatDuration(traced.least_ns)} ` +
      "or longer.",
  ];
  if (traced.not_reported > 0) said.push(`${formatCount(traced.not_reported)} more did not fit.`);
  if (traced.detached > 0)
    said.push(
      "Functions detached because they were called too often: " +
        `${formatCount(traced.detached)}; their later calls are not counted.`,
    );
  return said.join(" ");
}

function FunctionRow({
  one,
  whole_ns,
}: {
  one: TracedFunctions["functions"][number];
  whole_ns: number;
}) {
  return (
    <tr>
      <td class="number">{formatDuration(one.own_ns)}</td>
      <td class="number">{formatShare(Math.min(1, one.own_ns / whole_ns))}</td>
      <td class="number">{formatCount(one.calls)}</td>
      <td class="number">{formatDuration(one.longest_ns)}</td>
      <td class="code" title={one.module}>
        <FunctionName name={one.name} />
        <SourcePlace place={one.source} />
      </td>
      <td class="code muted">
        <span title={one.path.join("\n")}>{one.path.map(foldName).join(" › ")}</span>
      </td>
    </tr>
  );
}
