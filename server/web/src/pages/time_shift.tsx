// Where the slowest runs spend more time than typical ones.
import { other_stages_colour } from "../colours";
import { mainShift, partColours, partName } from "../charts/run_times";
import { type Filters, apiQuery } from "../filters";
import { formatCount, formatDifference, formatDuration, formatShare, plural } from "../format";
import { useGet } from "../load";
import { Empty, Ready, Section, Swatch, Scroll } from "../parts";
import type { DurationGroup, TimeShift } from "../types";

export function TimeShiftSection({ event, filters }: { event: string; filters: Filters }) {
  const loaded = useGet<TimeShift>(
    `/api/v1/events/${encodeURIComponent(event)}/times${apiQuery(filters)}`,
  );
  return (
    <Section title="Where slow runs differ" id="times">
      <Ready of={loaded} height={200}>
        {(data) =>
          data.middle && data.slow ? (
            <Shift shift={data} middle={data.middle} slow={data.slow} />
          ) : (
            <TooFew shift={data} />
          )
        }
      </Ready>
    </Section>
  );
}

function TooFew({ shift }: { shift: TimeShift }) {
  return (
    <Empty title="Too few runs with a timing breakdown.">
      <p>
        {formatCount(shift.runs_timed)} of the newest {plural(shift.runs_read, "run")}{" "}
        {shift.runs_timed === 1 ? "has" : "have"} one; {shift.runs_needed} are needed. Runs of
        goroutines, and runs sent by older versions, have none.
      </p>
    </Empty>
  );
}

export function MostOfThat({ of }: { of: ReturnType<typeof mainShift> }) {
  return (
    of && (
      <>
        {formatShare(of.share)} of that is <strong>{of.name}</strong>.
      </>
    )
  );
}

function Shift({
  shift,
  middle,
  slow,
}: {
  shift: TimeShift;
  middle: DurationGroup;
  slow: DurationGroup;
}) {
  const colours = partColours(shift.parts.map(partName));
  const colourOf = (name: string) =>
    colours.find((entry) => entry.name === name)?.colour ?? other_stages_colour;
  const longer = slow.mean_ns - middle.mean_ns;
  const rows: [string, DurationGroup, (part: TimeShift["parts"][number]) => number][] = [
    ["Typical runs", middle, (part) => part.middle_ns],
    ["Slowest 1 %", slow, (part) => part.slow_ns],
  ];
  const longest_ns = Math.max(slow.mean_ns, middle.mean_ns, 1);
  return (
    <div data-testid="time-shift">
      <p data-testid="time-shift-words">
        The slowest 1 % ({plural(slow.runs, "run")} of {formatDuration(slow.shortest_ns)} or more)
        take{" "}
        {longer > 0 ? (
          <>
            <strong>{formatDuration(longer)} longer</strong> on average than typical runs
          </>
        ) : (
          <>no longer than typical runs</>
        )}{" "}
        ({plural(middle.runs, "run")}, {formatDuration(middle.shortest_ns)} to{" "}
        {formatDuration(middle.longest_ns)}).{" "}
        <MostOfThat of={mainShift(shift.parts, middle.mean_ns, slow.mean_ns)} />
      </p>
      <div class="shift-bars" aria-hidden="true">
        {rows.map(([name, group, part_ns]) => (
          <div key={name} class="shift-bar">
            <span class="shift-name">{name}</span>
            <span class="shift-track">
              <span
                class="stage-line"
                style={{ width: `${Math.max(0.5, (100 * group.mean_ns) / longest_ns)}%` }}>
                {shift.parts
                  .filter((part) => part_ns(part) > 0)
                  .map((part) => (
                    <span
                      key={partName(part)}
                      title={`${partName(part)}: ${formatDuration(part_ns(part))}`}
                      style={{ flexGrow: part_ns(part), backgroundColor: colourOf(partName(part)) }}
                    />
                  ))}
              </span>
            </span>
          </div>
        ))}
      </div>
      <Scroll label="Where the time went">
        <table class="list compact" data-testid="time-shift-table">
          <thead>
            <tr>
              <th scope="col">Where the time went</th>
              <th scope="col" class="number">
                Typical runs
              </th>
              <th scope="col" class="number">
                Slowest 1 %
              </th>
              <th scope="col" class="number">
                Difference
              </th>
            </tr>
          </thead>
          <tbody>
            {shift.parts.map((part) => (
              <tr key={partName(part)}>
                <th scope="row">
                  <Swatch colour={colourOf(partName(part))} /> {partName(part)}
                </th>
                <td class="number">{formatDuration(part.middle_ns)}</td>
                <td class="number">{formatDuration(part.slow_ns)}</td>
                <td class="number">{formatDifference(part.slow_ns - part.middle_ns)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="muted">
        Means of the newest {plural(shift.runs_timed, "run")} with a timing breakdown.
      </p>
    </div>
  );
}
