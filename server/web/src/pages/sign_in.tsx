import { useState } from "preact/hooks";
import { ApiError, send } from "../api";
import { Title } from "../parts";

export function SignIn({ onSignedIn }: { onSignedIn: () => void }) {
  const [account, setAccount] = useState("");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await send("POST", "/api/v1/session", { account, password });
      setPassword("");
      onSignedIn();
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 0;
      if (status === 401) setProblem("The account or the password is wrong.");
      else if (status === 429) setProblem("Too many attempts. Wait a minute, then try again.");
      else setProblem(`That did not work: ${(error as Error).message}.`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main id="main" class="narrow">
      <Title text="Sign in" />
      <form class="panel form" onSubmit={submit} aria-label="Sign in">
        <label class="field">
          <span>Account</span>
          <input name="account" autocomplete="username" required value={account} onInput={(event) => setAccount(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Password</span>
          <input name="password" type="password" autocomplete="current-password" required value={password} onInput={(event) => setPassword(event.currentTarget.value)} />
        </label>
        {problem !== "" && <p class="problem" role="alert">{problem}</p>}
        <button type="submit" class="primary" disabled={busy}>{busy ? "Signing in…" : "Sign in"}</button>
      </form>
      <p class="muted">
        The first account is made on the server's machine: <code>lagtrap-server user add NAME --role admin</code>. Further ones are
        made by an admin, under Accounts.
      </p>
    </main>
  );
}
