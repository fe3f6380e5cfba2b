import { useState } from "preact/hooks";
import { ApiError, send } from "../api";
import { useGet } from "../load";
import { Title } from "../parts";
import { usePlace } from "../router";

// The server's reasons in the address after a failed single sign-on.
const reasons: Record<string, string> = {
  "no-group":
    "You signed in, but none of your groups may use this server. Ask an admin for access.",
  "name-taken":
    "The account with your name belongs to someone else or is disabled. " +
    "Ask an admin of this server.",
  "bad-name":
    "Your name at the provider is not a valid account name here. Ask an admin of this server.",
  expired: "Signing in took more than ten minutes, or started in another browser. Try again.",
  refused:
    "The provider did not sign you in. Try again. If this persists, " +
    "the server's log has the reason.",
  "no-answer":
    "The provider's answer was invalid. Try again in a moment. If this persists, " +
    "the server's log has the reason.",
};

export function SignIn({ onSignedIn }: { onSignedIn: () => void }) {
  const [account, setAccount] = useState("");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const place = usePlace();
  const [problem, setProblem] = useState(reasons[place.query.get("sign_in") ?? ""] ?? "");
  const ways = useGet<{ provider: string | null }>("/api/v1/session/ways");
  const provider = ways.data?.provider ?? null;
  const wanted = place.query.has("sign_in") ? "/" : place.key;
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
      {provider !== null && (
        <div class="panel form">
          <a class="button primary" href={`/api/v1/oidc/begin?to=${encodeURIComponent(wanted)}`}>
            Sign in with {provider}
          </a>
          <p class="muted">Or use an account of this server:</p>
        </div>
      )}
      <form class="panel form" onSubmit={submit} aria-label="Sign in">
        <label class="field">
          <span>Account</span>
          <input
            name="account"
            autocomplete="username"
            required
            value={account}
            onInput={(event) => setAccount(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Password</span>
          <input
            name="password"
            type="password"
            autocomplete="current-password"
            required
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </label>
        {problem !== "" && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="primary" disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </form>
      <p class="muted">
        Create the first account on the server's machine:{" "}
        <code>lagtrap-server user add NAME --role admin</code>. Admins create more under Accounts.
      </p>
    </main>
  );
}
