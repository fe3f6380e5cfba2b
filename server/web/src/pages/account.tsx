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
        <Empty title="Nobody is signed in."><p>This server has no accounts yet and answers anyone on its own machine. Make the first one under <a href="/accounts">Accounts</a>.</p></Empty>
      ) : (
        <>
          <p>You are signed in as <strong>{session.account}</strong>, {session.role === "reader" ? "a reader" : `an ${session.role}`}.{session.expires_ns && <> This session ends at the latest on <Time ns={session.expires_ns} />.</>}</p>
          {session.teams.length > 0 && <p data-testid="own-teams">You see what {session.teams.length > 1 ? "the teams" : "the team"} <strong>{session.teams.join(", ")}</strong> may see. An admin changes that under Accounts.</p>}
          {!session.sees_everything && session.teams.length === 0 && <p data-testid="no-team">You are in no team, so you see nothing here. An admin puts you into one under Accounts.</p>}
          {session.has_password ? <PasswordSection account={session.account} /> : <p data-testid="no-password">You sign in by a provider, so there is no password to change here. Change it where you sign in.</p>}
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
      setProblem(new ApiError(0, "the two new passwords differ", "Type the new password twice."));
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
        <label class="field"><span>Password in use</span><input name="password" type="password" required autocomplete="current-password" value={old} onInput={(event) => setOld(event.currentTarget.value)} /></label>
        <label class="field"><span>New password, 12 letters or more</span><input name="new-password" type="password" required minLength={12} autocomplete="new-password" value={fresh} onInput={(event) => setFresh(event.currentTarget.value)} /></label>
        <label class="field"><span>New password once more</span><input name="new-password-again" type="password" required minLength={12} autocomplete="new-password" value={again} onInput={(event) => setAgain(event.currentTarget.value)} /></label>
        {problem && <Failure error={problem} />}
        {state === "done" && <p role="status">The password is changed. Wherever else you were signed in, you are no longer.</p>}
        <button type="submit" class="primary" disabled={state === "sending"}>{state === "sending" ? "Changing…" : "Change password"}</button>
      </form>
    </Section>
  );
}
