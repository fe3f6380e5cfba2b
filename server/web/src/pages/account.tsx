// The user's own account: who they are here, and changing the password.
import { useState } from "preact/hooks";
import { ApiError, send } from "../api";
import { Empty, Failure, Section, Time, Title } from "../parts";
import type { Session } from "../types";

export function OwnAccount({ session }: { session: Session }) {
  return (
    <main id="main" class="narrow">
      <Title text="Your account" />
      {session.account === "" ? (
        <Empty title="You are not signed in.">
          <p>
            This server has no accounts yet and answers requests only from its own machine. Create
            the first account under <a href="/accounts">Accounts</a>.
          </p>
        </Empty>
      ) : (
        <>
          <p>
            You are signed in as <strong>{session.account}</strong>,{" "}
            {session.role === "reader" ? "a reader" : `an ${session.role}`}.
            {session.expires_ns && (
              <>
                {" "}
                This session ends by <Time ns={session.expires_ns} />.
              </>
            )}
          </p>
          {session.teams.length > 0 && (
            <p data-testid="own-teams">
              You see what {session.teams.length > 1 ? "the teams" : "the team"}{" "}
              <strong>{session.teams.join(", ")}</strong> may see. Admins can change this under
              Accounts.
            </p>
          )}
          {!session.sees_everything && session.teams.length === 0 && (
            <p data-testid="no-team">
              You are not in a team, so you see nothing here. Ask an admin to add you to one under
              Accounts.
            </p>
          )}
          {session.has_password ? (
            <PasswordSection account={session.account} />
          ) : (
            <p data-testid="no-password">
              You sign in through a provider. Change your password there.
            </p>
          )}
        </>
      )}
    </main>
  );
}

function PasswordSection({ account }: { account: string }) {
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const [again, setAgain] = useState("");
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [state, setState] = useState<"typing" | "sending" | "done">("typing");
  const submit = async (event: Event) => {
    event.preventDefault();
    setState("typing");
    if (fresh !== again) {
      setProblem(
        new ApiError(0, "the new passwords do not match", "Enter the same new password twice."),
      );
      return;
    }
    setProblem(null);
    setState("sending");
    try {
      await send("PUT", "/api/v1/session/password", { password: old, new_password: fresh });
      setOld("");
      setFresh("");
      setAgain("");
      setState("done");
    } catch (error) {
      setProblem(error instanceof ApiError ? error : new ApiError(0, String(error), "Try again."));
      setState("typing");
    }
  };
  return (
    <Section title="Password">
      <form class="form" onSubmit={submit} aria-label="Change password">
        <input type="hidden" name="username" autocomplete="username" value={account} />
        <label class="field">
          <span>Current password</span>
          <input
            name="password"
            type="password"
            required
            autocomplete="current-password"
            value={old}
            onInput={(event) => setOld(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>New password (at least 12 characters)</span>
          <input
            name="new-password"
            type="password"
            required
            minLength={12}
            autocomplete="new-password"
            value={fresh}
            onInput={(event) => setFresh(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Repeat new password</span>
          <input
            name="new-password-again"
            type="password"
            required
            minLength={12}
            autocomplete="new-password"
            value={again}
            onInput={(event) => setAgain(event.currentTarget.value)}
          />
        </label>
        {problem && <Failure error={problem} />}
        {state === "done" && (
          <p role="status">Password changed. All your other sessions are signed out.</p>
        )}
        <button type="submit" class="primary" disabled={state === "sending"}>
          {state === "sending" ? "Changing…" : "Change password"}
        </button>
      </form>
    </Section>
  );
}
