// The audit log: sign-ins and attempts, and who created and removed what; for admins.
import { useFurther, useGet } from "../load";
import { Empty, Failure, Ready, Shortened, Time, Title } from "../parts";
import { type Place, setQuery } from "../router";
import type { AuditEntry, AuditList, Session } from "../types";

const parts: [only: string, title: string][] = [
  ["", "Everything"],
  ["sign-ins", "Sign-ins and sign-outs"],
  ["refusals", "Refused attempts"],
];

function Row({ entry }: { entry: AuditEntry }) {
  const refused = entry.action.startsWith("refuse");
  return (
    <tr>
      <td>
        <Time ns={entry.at_ns} />
      </td>
      <th scope="row">{entry.who ?? <span class="muted">unknown</span>}</th>
      <td class={refused ? "problem" : undefined}>{entry.action}</td>
      <td>
        <Shortened text={entry.object ?? ""} most={24} />
      </td>
      <td>{entry.detail}</td>
    </tr>
  );
}

function Entries({ place }: { place: Place }) {
  const wanted = place.query.get("only") ?? "";
  const only = parts.some(([name]) => name === wanted) ? wanted : "";
  const address = `/api/v1/audit?limit=100${only === "" ? "" : `&only=${only}`}`;
  const file = (format: string) =>
    `/api/v1/audit/export?format=${format}${only === "" ? "" : `&only=${only}`}`;
  const first = useGet<AuditList>(address);
  const { parts: lists, next, problem, more } = useFurther(first, address);
  return (
    <Ready of={first} height={400}>
      {() => {
        const rows = lists.flatMap((part) => part.entries);
        const choice = (
          <div class="row-form">
            <label class="field">
              <span>Show</span>
              <select
                name="only"
                value={only}
                onChange={(event) => setQuery({ only: event.currentTarget.value })}>
                {parts.map(([name, title]) => (
                  <option key={name} value={name}>
                    {title}
                  </option>
                ))}
              </select>
            </label>
            <span>
              Download all:{" "}
              <a href={file("csv")} download="">
                CSV
              </a>{" "}
              <a href={file("ndjson")} download="">
                NDJSON
              </a>
            </span>
          </div>
        );
        if (rows.length === 0)
          return (
            <>
              {choice}
              <Empty title="No entries yet.">
                <p>Sign-ins, accounts, tokens and deletions are listed here.</p>
              </Empty>
            </>
          );
        return (
          <>
            <p class="muted">
              Entries are kept for 400 days; of refused attempts, only the last 100,000.
            </p>
            {choice}
            <table class="list" data-testid="audit">
              <thead>
                <tr>
                  <th scope="col">Time</th>
                  <th scope="col">Account</th>
                  <th scope="col">Action</th>
                  <th scope="col">Object</th>
                  <th scope="col">Details</th>
                </tr>
              </thead>
              <tbody>
                {rows.map((entry) => (
                  <Row key={entry.id} entry={entry} />
                ))}
              </tbody>
            </table>
            {problem && <Failure error={problem} again={more} />}
            {next !== null && (
              <p>
                <button type="button" onClick={more}>
                  Show older entries
                </button>
              </p>
            )}
          </>
        );
      }}
    </Ready>
  );
}

export function Audit({ session, place }: { session: Session; place: Place }) {
  return (
    <main id="main">
      <Title text="Audit log" />
      {session.role !== "admin" ? (
        <Empty title="Only admins may see the audit log.">
          <p>
            You are signed in as {session.account} (role: {session.role}). Ask an admin of this
            server.
          </p>
        </Empty>
      ) : (
        <Entries place={place} />
      )}
    </main>
  );
}
