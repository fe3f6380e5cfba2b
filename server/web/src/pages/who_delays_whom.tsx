// Which requests hold up which others, as a picture and a table.
import { Sparkline } from "../charts/sparkline";
import { FilterBar } from "../filter_bar";
import { apiQuery, eventAddress, parseFilters } from "../filters";
import { formatCount, formatDuration, plural, shortId } from "../format";
import { useGet } from "../load";
import { shortenMiddle } from "../names";
import { Choice, Empty, FunctionName, Ready, Section, Time, Title, Wide } from "../parts";
import { type Place, setQuery } from "../router";
import type { RequestPair, WhoDelaysWhom } from "../types";

type Kind = RequestPair["culprit"];

const day_ns = 86400n * 1000000000n;
const drawn_pairs = 12;
const row_height = 28;
const picture_width = 720;

const held: Record<RequestPair["how"], string> = {
  lock: "a lock",
  "interpreter-lock": "the interpreter's lock",
  "database-lock": "a lock of the database",
  "file-lock": "a lock on a file",
  "kernel-lock": "a lock of the kernel",
  cpu: "the CPU",
  "busy-thread": "a busy thread",
};

const joined = (...parts: (string | null)[]) => parts.filter(Boolean).join(", ");

export function nameOf(kind: Kind): string {
  return joined(kind.route ?? kind.event ?? "a request", kind.part);
}

// Lost time of each day from the first to the last one, with zeros between them.
export function lostByDay(days: RequestPair["days"]): number[] {
  const most_days = 400;
  const lost: number[] = [];
  for (const day of days) {
    const at = Number((BigInt(day.from_ns) - BigInt(days[0].from_ns)) / day_ns);
    if (at >= most_days) break;
    while (lost.length < at) lost.push(0);
    lost.push(day.lost_ns);
  }
  return lost;
}

function lostPerDay(pair: RequestPair): number {
  return pair.lost_ns / Math.max(1, lostByDay(pair.days).length);
}

function KindName({ kind }: { kind: Kind }) {
  if (kind.event === null) return <>{nameOf(kind)}</>;
  return (
    <div>
      <a href={eventAddress(kind.event)}>{kind.event}</a>{" "}
      <span class="muted">{joined(kind.route, kind.part)}</span>
    </div>
  );
}

// Culprits are left, delayed requests right; the thicker the line, the more time was lost.
function Picture({ pairs }: { pairs: RequestPair[] }) {
  const shown = pairs.slice(0, drawn_pairs);
  const culprits = [...new Set(shown.map((pair) => nameOf(pair.culprit)))];
  const delayed = [...new Set(shown.map((pair) => nameOf(pair.delayed)))];
  const height = Math.max(culprits.length, delayed.length) * row_height;
  const at = (names: string[], name: string) =>
    ((names.indexOf(name) + 0.5) * height) / names.length;
  const most_ns = Math.max(...shown.map((pair) => pair.lost_ns), 1);
  const left = picture_width * 0.36;
  const right = picture_width - left;
  const middle = picture_width / 2;
  return (
    <svg
      class="pairs"
      viewBox={`0 0 ${picture_width} ${height}`}
      role="img"
      aria-label={shown
        .map(
          (pair) =>
            `${nameOf(pair.culprit)} held ${nameOf(pair.delayed)} up for ` +
            formatDuration(pair.lost_ns),
        )
        .join("; ")}>
      {shown.map((pair, index) => {
        const from = at(culprits, nameOf(pair.culprit));
        const to = at(delayed, nameOf(pair.delayed));
        return (
          <path
            key={index}
            d={`M${left} ${from}C${middle} ${from} ${middle} ${to} ${right} ${to}`}
            stroke-width={(1 + (pair.lost_ns / most_ns) * 9).toFixed(1)}
          />
        );
      })}
      {culprits.map((name) => (
        <text key={name} x={left - 8} y={at(culprits, name)} text-anchor="end">
          {shortenMiddle(name, 36)}
        </text>
      ))}
      {delayed.map((name) => (
        <text key={name} x={right + 8} y={at(delayed, name)}>
          {shortenMiddle(name, 36)}
        </text>
      ))}
    </svg>
  );
}

function Examples({ pair }: { pair: RequestPair }) {
  return (
    <details>
      <summary>{plural(pair.examples.length, "example")}</summary>
      <ul>
        {pair.examples.map((example) => (
          <li key={`${example.bundle} ${example.delay}`}>
            <a href={`/bundle/${example.bundle}/${example.delay}`}>
              {formatDuration(example.lost_ns)}
            </a>{" "}
            on {example.host}, <Time ns={example.begin_ns} age />: {example.thread} ({example.tid})
            of {example.process}
            {example.key !== "0" && `, key ${example.key}`}
            {example.trace_id !== null && (
              <>
                , trace <span class="code">{shortId(example.trace_id)}</span>
              </>
            )}
            {example.attributes.map((one) => `, ${one.name} ${one.value}`)}
            {example.place !== "" && (
              <>
                , in <FunctionName name={example.place} />
              </>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Row({ pair }: { pair: RequestPair }) {
  const days = lostByDay(pair.days);
  return (
    <tr>
      <th scope="row">
        <KindName kind={pair.culprit} />
      </th>
      <td>
        <KindName kind={pair.delayed} />
      </td>
      <td>{held[pair.how]}</td>
      <td class="number">{formatDuration(lostPerDay(pair))}</td>
      <td class="number">{formatDuration(pair.longest_ns)}</td>
      <td class="number">{formatCount(pair.delays)}</td>
      <td class="number">
        {days.length > 1 && <Sparkline values={days} split={0} />}
        <span class="muted">{plural(days.length, "day")}</span>
      </td>
      <td>
        <Examples pair={pair} />
      </td>
    </tr>
  );
}

// `by`: what distinguishes requests besides event and route; "unit", "host" or "attribute:NAME".
function Pairs({ data, by }: { data: WhoDelaysWhom; by: string }) {
  return (
    <>
      <Section
        title="Who delays whom"
        id="picture"
        aside={
          <Choice<string>
            label="Split by"
            value={by}
            options={[
              ["", "request"],
              ["unit", "unit"],
              ["host", "host"],
              ...data.attributes.map((name): [string, string] => [`attribute:${name}`, name]),
            ]}
            onChoose={(value) => setQuery({ by: value })}
          />
        }>
        <Picture pairs={data.pairs} />
        <p class="key">
          Requests on the left held up those on the right. Thicker lines: more lost time.
        </p>
      </Section>
      <Wide label="Table of requests that delay others">
        <table class="list" data-testid="pairs">
          <thead>
            <tr>
              <th scope="col">Culprit</th>
              <th scope="col">Delayed</th>
              <th scope="col">Held</th>
              <th scope="col" class="number">
                Lost per day
              </th>
              <th scope="col" class="number">
                Longest
              </th>
              <th scope="col" class="number">
                Delays
              </th>
              <th scope="col" class="number">
                By day
              </th>
              <th scope="col">Examples</th>
            </tr>
          </thead>
          <tbody>
            {data.pairs.map((pair) => (
              <Row key={JSON.stringify([pair.culprit, pair.delayed])} pair={pair} />
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="muted">
        From {plural(data.edges_read, "delay")} with a proven holder.
        {data.edges > data.edges_read &&
          ` ${plural(data.edges - data.edges_read, "older one")} left out.`}
        {data.pairs_left_out > 0 && ` ${plural(data.pairs_left_out, "further pair")} left out.`}
      </p>
    </>
  );
}

export function WhoDelaysWhomPage({ place }: { place: Place }) {
  const filters = parseFilters(place.query);
  const by = place.query.get("by") ?? "";
  const loaded = useGet<WhoDelaysWhom>(`/api/v1/who-delays-whom${apiQuery(filters, { by })}`);
  return (
    <main id="main">
      <Title text="Who delays whom" />
      <FilterBar filters={filters} event={filters.event} />
      <Ready of={loaded} height={300}>
        {(data) =>
          data.pairs.length > 0 ? (
            <Pairs data={data} by={by} />
          ) : (
            <Empty title="No request is known to have held up another one.">
              <p>Choose a longer time span or clear a filter.</p>
            </Empty>
          )
        }
      </Ready>
    </main>
  );
}
