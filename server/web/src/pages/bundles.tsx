// The list of bundles, most recently received first.
import { FilterBar } from "../filter_bar";
import { apiQuery, eventAddress, narrowing, parseFilters } from "../filters";
import { formatBytes, formatCount, formatDuration, shortId } from "../format";
import { useFurther, useGet } from "../load";
import { Empty, Failure, Ready, Time, Title } from "../parts";
import type { Place } from "../router";
import type { Bundle, BundleList } from "../types";

function Row({ bundle }: { bundle: Bundle }) {
  const bad = bundle.bad_reason !== null;
  return (
    <tr>
      <th scope="row">
        <a class="code" href={`/bundle/${bundle.digest}`}>
          {shortId(bundle.digest)}
        </a>
      </th>
      <td>
        <Time ns={bundle.received_ns} age />
      </td>
      {bad ? (
        <td colSpan={5} class="problem">
          cannot be read: {bundle.bad_reason}
        </td>
      ) : !bundle.parsed ? (
        <td colSpan={5} class="muted">
          {bundle.host === "" ? "" : `from ${bundle.host}, `}waiting to be read
        </td>
      ) : (
        <>
          <td>
            <a href={eventAddress(bundle.event)}>{bundle.event}</a>
          </td>
          <td>{bundle.process}</td>
          <td>{bundle.host}</td>
          <td class="number">{formatCount(bundle.delays)}</td>
          <td class="number">{formatDuration(bundle.longest_delay_ns)}</td>
        </>
      )}
      <td class="number">{formatBytes(bundle.bytes)}</td>
    </tr>
  );
}

export function Bundles({ place }: { place: Place }) {
  const filters = parseFilters(place.query);
  const address = `/api/v1/bundles${apiQuery(filters, { limit: 100 })}`;
  const first = useGet<BundleList>(address);
  const { parts, next, problem, more } = useFurther(first, address);
  return (
    <main id="main">
      <Title text={filters.event ? `Bundles of ${filters.event}` : "Bundles"} />
      <FilterBar filters={filters} event={filters.event} />
      <Ready of={first} height={400}>
        {() => {
          const rows = parts.flatMap((part) => part.bundles);
          if (rows.length === 0) {
            return narrowing(filters).length > 0 || filters.event ? (
              <Empty title="No bundle matches these filters.">
                <p>Choose a longer time span or clear a filter.</p>
              </Empty>
            ) : (
              <Empty title="No bundles received yet.">
                <p>
                  A machine that runs <code>lagtrapd</code> and <code>lagtrap-uploader</code> sends
                  a bundle when a run exceeds its threshold. Check <code>lagtrap status</code>{" "}
                  there.
                </p>
              </Empty>
            );
          }
          return (
            <>
              <table class="list">
                <thead>
                  <tr>
                    <th scope="col">Bundle</th>
                    <th scope="col">Received</th>
                    <th scope="col">Event</th>
                    <th scope="col">Process</th>
                    <th scope="col">Host</th>
                    <th scope="col" class="number">
                      Delays
                    </th>
                    <th scope="col" class="number">
                      Longest
                    </th>
                    <th scope="col" class="number">
                      Size
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((bundle) => (
                    <Row key={bundle.digest} bundle={bundle} />
                  ))}
                </tbody>
              </table>
              {problem && <Failure error={problem} again={more} />}
              {next !== null && (
                <p>
                  <button type="button" onClick={more}>
                    Show more bundles
                  </button>
                </p>
              )}
            </>
          );
        }}
      </Ready>
    </main>
  );
}
