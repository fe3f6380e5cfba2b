// The list of events, newest first.
import { furthestAhead } from "../clock_ahead";
import { FilterBar } from "../filter_bar";
import { apiQuery, eventAddress, narrowing, parseFilters } from "../filters";
import { formatAge, formatCount, formatDuration, formatShare, plural } from "../format";
import { useFurther, useGet } from "../load";
import { Empty, Failure, Ready, Time, Title } from "../parts";
import type { Place } from "../router";
import type { EventList, Losses, Session } from "../types";
import { FirstSteps } from "./first_steps";

export function Events({ place, session }: { place: Place; session: Session }) {
  const filters = parseFilters(place.query);
  const query = apiQuery(filters, { limit: 100 });
  const address = `/api/v1/events${query}`;
  const first = useGet<EventList>(address);
  const { parts, next, problem, more } = useFurther(first, address);
  return (
    <main id="main">
      <Title text="Events" />
      <FilterBar filters={filters} search />
      <Ready of={first} height={400}>
        {(list) => {
          const rows = parts.flatMap((part) => part.events);
          if (rows.length === 0)
            return (
              <>
                {narrowing(filters).length > 0 ? <NoEvents /> : <FirstSteps session={session} />}
                <Lost losses={list.lost} />
              </>
            );
          return (
            <>
              <Lost losses={list.lost} />
              <Ahead events={rows} />
              <table class="list">
                <thead>
                  <tr>
                    <th scope="col">Event</th>
                    <th scope="col">Last data</th>
                    <th scope="col" class="number">
                      Runs
                    </th>
                    <th scope="col" class="number">
                      Delays
                    </th>
                    <th scope="col">Delayed</th>
                    <th scope="col" class="number">
                      Hosts
                    </th>
                    <th scope="col" class="number">
                      Bundles
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((row) => {
                    const share = row.runs > 0 ? row.delays / row.runs : 0;
                    return (
                      <tr key={row.event}>
                        <th scope="row">
                          <a href={eventAddress(row.event, filters)}>{row.event}</a>
                        </th>
                        <td>
                          <Time ns={row.last_ns} age />
                        </td>
                        <td class="number">{formatCount(row.runs)}</td>
                        <td class="number">{formatCount(row.delays)}</td>
                        <td class="share-cell">
                          {row.runs > 0 && (
                            <>
                              <meter min={0} max={1} value={share} aria-hidden="true" />{" "}
                              {formatShare(share)}
                            </>
                          )}
                        </td>
                        <td class="number">{formatCount(row.hosts)}</td>
                        <td class="number">{formatCount(row.bundles)}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
              {problem && <Failure error={problem} again={more} />}
              {next !== null && (
                <p>
                  <button type="button" onClick={more}>
                    Show more events
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

export function Ahead({ events }: { events: { event: string; last_ns: string }[] }) {
  const now_ms = Date.now();
  const found = furthestAhead(events, now_ms);
  if (found === null) return null;
  return (
    <div class="notice" data-testid="ahead">
      <p>
        <strong>
          Runs of {found.event} are dated {formatDuration(found.ahead_ns)} ahead of this browser's
          clock.
        </strong>{" "}
        Check the clock of their machines.{" "}
        <a href={eventAddress(found.event, { from: now_ms })}>Show these runs</a>
      </p>
    </div>
  );
}

export function Lost({ losses }: { losses: Losses }) {
  if (losses.runs === 0) return null;
  const named = losses.hosts.reduce((sum, host) => sum + host.runs, 0);
  return (
    <div class="notice" id="lost">
      <p>
        <strong>{plural(losses.runs, "run was", "runs were")} lost before upload.</strong> The spool
        was full or lagtrapd was killed; run <code>lagtrap status</code> on the machine to find out.
      </p>
      <p>
        {losses.hosts.map((host, index) => (
          <span key={host.host}>
            {index > 0 && ", "}
            {formatCount(host.runs)} on {host.host} ({formatAge(host.last_ns, Date.now())})
          </span>
        ))}
        {named < losses.runs && <>, {formatCount(losses.runs - named)} on other hosts</>}
      </p>
    </div>
  );
}

export function NoEvents() {
  return (
    <Empty title="No event matches these filters.">
      <p>Choose a longer time span or clear a filter.</p>
    </Empty>
  );
}
