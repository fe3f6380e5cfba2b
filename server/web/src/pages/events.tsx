// The list of events, newest first.
import { FilterBar } from "../filter_bar";
import { apiQuery, eventAddress, narrowing, parseFilters } from "../filters";
import { formatAge, formatCount, formatShare, plural } from "../format";
import { useFurther, useGet } from "../load";
import { Empty, Failure, Ready, Time, Title } from "../parts";
import type { Place } from "../router";
import type { EventList, Losses } from "../types";

export function Events({ place }: { place: Place }) {
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
          if (rows.length === 0) return <><NoEvents narrowed={narrowing(filters).length > 0} /><Lost losses={list.lost} /></>;
          return (
            <>
              <Lost losses={list.lost} />
              <table class="list">
                <thead>
                  <tr>
                    <th scope="col">Event</th><th scope="col">Last record</th><th scope="col" class="number">Runs</th>
                    <th scope="col" class="number">Delays</th><th scope="col">Share delayed</th>
                    <th scope="col" class="number">Hosts</th><th scope="col" class="number">Bundles</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((row) => {
                    const share = row.runs > 0 ? row.delays / row.runs : 0;
                    return (
                      <tr key={row.event}>
                        <th scope="row"><a href={eventAddress(row.event, filters)}>{row.event}</a></th>
                        <td><Time ns={row.last_ns} age /></td>
                        <td class="number">{formatCount(row.runs)}</td>
                        <td class="number">{formatCount(row.delays)}</td>
                        <td class="share-cell">
                          {row.runs > 0 && <><meter min={0} max={1} value={share} aria-hidden="true" /> {formatShare(share)}</>}
                        </td>
                        <td class="number">{formatCount(row.hosts)}</td>
                        <td class="number">{formatCount(row.bundles)}</td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
              {problem && <Failure error={problem} again={more} />}
              {next !== null && <p><button type="button" onClick={more}>Show more events</button></p>}
            </>
          );
        }}
      </Ready>
    </main>
  );
}

export function Lost({ losses }: { losses: Losses }) {
  if (losses.runs === 0) return null;
  const named = losses.hosts.reduce((sum, host) => sum + host.runs, 0);
  return (
    <div class="notice" id="lost">
      <p>
        <strong>{plural(losses.runs, "run was", "runs were")} lost before they were sent.</strong> No room was left for them, or a daemon was
        killed: <code>lagtrap status</code> on the machine says which.
      </p>
      <p>
        {losses.hosts.map((host, index) => (
          <span key={host.host}>{index > 0 && ", "}{formatCount(host.runs)} of {host.host} ({formatAge(host.last_ns, Date.now())})</span>
        ))}
        {named < losses.runs && <>, {formatCount(losses.runs - named)} of others</>}
      </p>
    </div>
  );
}

export function NoEvents({ narrowed }: { narrowed: boolean }) {
  if (narrowed) {
    return (
      <Empty title="No event matches these filters.">
        <p>Widen the span of time, or clear a filter above.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing has been received yet.">
      <ol>
        <li>Make an account for yourself, if you have none: under <a href="/accounts">Accounts</a>, or with <code>lagtrap-server user add NAME --role admin</code>. Sign in with it.</li>
        <li>Make a token for uploads, at the same place or with <code>lagtrap-server token add NAME --scope upload</code>.</li>
        <li>On a machine to be watched, give <code>lagtrap-uploader</code> this server's address and the token.</li>
        <li>Set <code>record="runs"</code> on an event of <code>/etc/lagtrap/settings.xml</code> to have every run reported, not only delays.</li>
      </ol>
    </Empty>
  );
}
