// Accounts of people and tokens of machines; for admins.
import { useState } from "preact/hooks";
import { useAction } from "../action";
import { send } from "../api";
import { useGet } from "../load";
import { Confirm, Empty, Failure, Ready, Section, Time, Title } from "../parts";
import { TeamSection } from "./teams";
import type { Account, Role, Scope, Session, Token } from "../types";

export function Accounts({ session }: { session: Session }) {
  return (
    <main id="main">
      <Title text="Accounts and tokens" />
      {session.role !== "admin" ? (
        <Empty title="Only admins may see accounts and tokens.">
          <p>
            You are signed in as {session.account} (role: {session.role}). Ask an admin of this
            server.
          </p>
        </Empty>
      ) : (
        <>
          {session.account === "" && (
            <Empty title="There are no accounts yet.">
              <p>
                Anyone on this machine can do everything here; other machines have no access. Create
                your own account first. After that, everyone has to sign in, and you can create more
                accounts and tokens.
              </p>
            </Empty>
          )}
          <AccountSection session={session} />
          {session.account !== "" && <TokenSection />}
        </>
      )}
    </main>
  );
}

function AccountSection({ session }: { session: Session }) {
  const list = useGet<{ accounts: Account[] }>("/api/v1/accounts");
  const { problem, act } = useAction(list.reload);
  const [account, setAccount] = useState("");
  const [password, setPassword] = useState("");
  const first = session.account === "";
  const [role, setRole] = useState<Role>(first ? "admin" : "reader");
  const add = async (event: Event) => {
    event.preventDefault();
    if (await act(() => send("POST", "/api/v1/accounts", { account, password, role }))) {
      setAccount("");
      setPassword("");
    }
  };
  return (
    <>
      <Section title="Accounts">
        {problem && <Failure error={problem} />}
        <Ready of={list}>
          {(data) => (
            <table class="list" data-testid="accounts">
              <thead>
                <tr>
                  <th scope="col">Account</th>
                  <th scope="col">Role</th>
                  <th scope="col">Created</th>
                  <th scope="col">Last signed in</th>
                  <th scope="col">Action</th>
                </tr>
              </thead>
              <tbody>
                {data.accounts.map((row) => (
                  <tr key={row.account}>
                    <th scope="row">{row.account}</th>
                    <td>{row.role}</td>
                    <td>
                      <Time ns={row.created_ns} />
                    </td>
                    <td>
                      {row.last_sign_in_ns ? (
                        <Time ns={row.last_sign_in_ns} age />
                      ) : (
                        <span class="muted">never</span>
                      )}
                    </td>
                    <td>
                      {row.account === session.account ? (
                        <span class="muted">this is you</span>
                      ) : (
                        <Confirm
                          text="Delete"
                          question={`Delete ${row.account}`}
                          onConfirm={() =>
                            void act(() =>
                              send("DELETE", `/api/v1/accounts/${encodeURIComponent(row.account)}`),
                            )
                          }
                        />
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Ready>
        <form class="row-form" onSubmit={add} aria-label="Add an account">
          <label class="field">
            <span>New account</span>
            <input
              name="new-account"
              required
              pattern="[A-Za-z0-9._@\-]{1,64}"
              title="letters, digits, dot, dash, underscore and @"
              autocomplete="off"
              value={account}
              onInput={(event) => setAccount(event.currentTarget.value)}
            />
          </label>
          <label class="field">
            <span>Password (at least 12 characters)</span>
            <input
              name="new-password"
              type="password"
              required
              minLength={12}
              autocomplete="new-password"
              value={password}
              onInput={(event) => setPassword(event.currentTarget.value)}
            />
          </label>
          <label class="field">
            <span>Role</span>
            <select
              name="new-role"
              value={role}
              onChange={(event) => setRole(event.currentTarget.value as Role)}>
              {!first && (
                <option value="reader">
                  reader: sees what their teams may see, or everything if there are no teams
                </option>
              )}
              {!first && (
                <option value="uploader">uploader: can also upload, and exclude runs</option>
              )}
              <option value="admin">admin: can do everything</option>
            </select>
          </label>
          <button type="submit" class="primary">
            Add account
          </button>
        </form>
      </Section>
      {!first && <Ready of={list}>{(data) => <TeamSection accounts={data.accounts} />}</Ready>}
    </>
  );
}

const lifetimes: [string, number][] = [
  ["90 days", 90],
  ["1 year", 365],
  ["never", 0],
];

function TokenSection() {
  const list = useGet<{ tokens: Token[] }>("/api/v1/tokens");
  const { problem, act } = useAction(list.reload);
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("upload");
  const [host, setHost] = useState("");
  const [days, setDays] = useState(365);
  const [made, setMade] = useState<{ name: string; token: string } | null>(null);
  const add = async (event: Event) => {
    event.preventDefault();
    const expires_ns = days === 0 ? null : String(BigInt(Date.now() + days * 86400000) * 1000000n);
    await act(async () => {
      const answer = await send<{ token: string }>("POST", "/api/v1/tokens", {
        name,
        scope,
        host: host === "" ? null : host,
        expires_ns,
      });
      setMade({ name, token: answer.token });
      setName("");
      setHost("");
    });
  };
  return (
    <Section title="Tokens">
      {problem && <Failure error={problem} />}
      {made && (
        <div class="notice" role="status" data-testid="made-token">
          <p>
            <strong>Token {made.name} created. Copy it now: it is shown only once.</strong>
          </p>
          <p>
            <code class="secret">{made.token}</code>
          </p>
          <p>
            <button type="button" onClick={() => void navigator.clipboard?.writeText(made.token)}>
              Copy
            </button>{" "}
            <button type="button" onClick={() => setMade(null)}>
              I copied it
            </button>
          </p>
        </div>
      )}
      <Ready of={list}>
        {(data) =>
          data.tokens.length === 0 ? (
            <Empty title="No tokens yet.">
              <p>Create one below for each machine, or group of machines, that uploads.</p>
            </Empty>
          ) : (
            <table class="list" data-testid="tokens">
              <thead>
                <tr>
                  <th scope="col">Token</th>
                  <th scope="col">Scope</th>
                  <th scope="col">Host</th>
                  <th scope="col">Created</th>
                  <th scope="col">Expires</th>
                  <th scope="col">Last used</th>
                  <th scope="col">Action</th>
                </tr>
              </thead>
              <tbody>
                {data.tokens.map((row) => (
                  <tr key={row.id}>
                    <th scope="row">{row.name}</th>
                    <td>{row.scope}</td>
                    <td>{row.host ?? <span class="muted">any</span>}</td>
                    <td>
                      <Time ns={row.created_ns} />
                    </td>
                    <td>
                      {row.expires_ns ? (
                        <Time ns={row.expires_ns} />
                      ) : (
                        <span class="muted">never</span>
                      )}
                    </td>
                    <td>
                      {row.last_used_ns ? (
                        <Time ns={row.last_used_ns} age />
                      ) : (
                        <span class="muted">never</span>
                      )}
                    </td>
                    <td>
                      <Confirm
                        text="Revoke"
                        question={`Revoke ${row.name}`}
                        onConfirm={() =>
                          void act(() =>
                            send("DELETE", `/api/v1/tokens/${encodeURIComponent(row.id)}`),
                          )
                        }
                      />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Ready>
      <form class="row-form" onSubmit={add} aria-label="Create a token">
        <label class="field">
          <span>New token</span>
          <input
            name="token-name"
            required
            pattern="[A-Za-z0-9._\-]{1,64}"
            title="letters, digits, dot, dash and underscore"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Scope</span>
          <select
            name="token-scope"
            value={scope}
            onChange={(event) => setScope(event.currentTarget.value as Scope)}>
            <option value="upload">upload: for lagtrap-uploader</option>
            <option value="read">read: for scripts</option>
            <option value="admin">admin</option>
          </select>
        </label>
        <label class="field">
          <span>Host (empty: any)</span>
          <input
            name="token-host"
            value={host}
            onInput={(event) => setHost(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Expires after</span>
          <select
            name="token-days"
            value={String(days)}
            onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {lifetimes.map(([text, value]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary">
          Create token
        </button>
      </form>
    </Section>
  );
}
