// Who signed in, or tried to, and who made and removed what; for admins.
import { useEffect, useState } from "preact/hooks";
import { type ApiError, get } from "../api";
import { useGet } from "../load";
import { Empty, Failure, Ready, Time, Title } from "../parts";
import type { AuditEntry, AuditList, Session } from "../types";

const address = "/api/v1/audit?limit=100";

function Row({ entry }: { entry: AuditEntry }) {
  const refused = entry.action.startsWith("refuse");
  return (
    <tr>
      <td><Time ns={entry.at_ns} /></td>
      <th scope="row">{entry.who ?? <span class="muted">not known</span>}</th>
      <td class={refused ? "problem" : undefined}>{entry.action}</td>
      <td>{entry.object}</td>
      <td>{entry.detail}</td>
    </tr>
  );
}

function Entries() {
  const first = useGet<AuditList>(address);
  const [more, setMore] = useState<AuditList | null>(null);
  const [problem, setProblem] = useState<ApiError | null>(null);
  useEffect(() => {
    setMore(null);
    setProblem(null);
  }, [first.data]);
  const next = more ? more.next : (first.data?.next ?? null);
  const loadMore = async () => {
    try {
      const part = await get<AuditList>(`${address}&after=${encodeURIComponent(next ?? "")}`);
      setMore((old) => ({ entries: [...(old?.entries ?? []), ...part.entries], next: part.next }));
    } catch (error) {
      setProblem(error as ApiError);
    }
  };
  return (
    <Ready of={first} height={400}>
      {(list) => {
        const rows = [...list.entries, ...(more?.entries ?? [])];
        if (rows.length === 0) return <Empty title="Nothing has been done yet."><p>Signing in, accounts, tokens and what is removed will be listed here.</p></Empty>;
        return (
          <>
            <p class="muted">Kept for 400 days; of refused attempts the last 100,000.</p>
            <table class="list" data-testid="audit">
              <thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col">Of what</th><th scope="col">More</th></tr></thead>
              <tbody>{rows.map((entry) => <Row key={entry.id} entry={entry} />)}</tbody>
            </table>
            {problem && <Failure error={problem} again={() => void loadMore()} />}
            {next !== null && <p><button type="button" onClick={() => void loadMore()}>Show older entries</button></p>}
          </>
        );
      }}
    </Ready>
  );
}

export function Audit({ session }: { session: Session }) {
  return (
    <main id="main">
      <Title text="Audit" />
      {session.role !== "admin" ? (
        <Empty title="Only admins may see the audit."><p>You are signed in as {session.account}, a {session.role}. Ask an admin of this server.</p></Empty>
      ) : (
        <Entries />
      )}
    </main>
  );
}
