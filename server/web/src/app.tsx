// The whole page: the session, the current route, and the frame around it.
import { options, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, get, send, whenSignedOut } from "./api";
import { outer } from "./base";
import { forgetBuildNames } from "./builds";
import { OwnAccount } from "./pages/account";
import { Accounts } from "./pages/accounts";
import { AllObjects } from "./pages/all_objects";
import { Audit } from "./pages/audit";
import { Bundles } from "./pages/bundles";
import { CausePage } from "./pages/cause";
import { ComparePage } from "./pages/compare_sets";
import { DelayPage } from "./pages/delay";
import { EventPage } from "./pages/event";
import { Events } from "./pages/events";
import { KnownCauses } from "./pages/known_causes";
import { MachinePage } from "./pages/machine";
import { Overview } from "./pages/overview";
import { RulePage, Rules } from "./pages/rules";
import { RunPage } from "./pages/run";
import { SignIn } from "./pages/sign_in";
import { Empty, Failure, Title } from "./parts";
import { keepCellsLabelled } from "./cell_labels";
import { WatchPage, Watches } from "./pages/watches";
import { WhoDelaysWhomPage } from "./pages/who_delays_whom";
import { followLinks, usePlace } from "./router";
import { SearchBox } from "./search_box";
import { parseRoute } from "./routes";
import { chooseUtc, inUtc, zoneName } from "./zone";
import { startTheme, useThemeChoice } from "./theme";
import type { Session } from "./types";

function Page({ session }: { session: Session }) {
  const place = usePlace();
  const route = parseRoute(place.path);
  switch (route.page) {
    case "overview":
      return <Overview place={place} session={session} />;
    case "events":
      return <Events place={place} session={session} />;
    case "event":
      return <EventPage key={route.event} event={route.event} place={place} session={session} />;
    case "causes":
      return <KnownCauses place={place} />;
    case "cause":
      return <CausePage key={route.id} id={route.id} session={session} place={place} />;
    case "run":
      return <RunPage key={route.id} id={route.id} session={session} />;
    case "bundles":
      return <Bundles place={place} />;
    case "objects":
      return <AllObjects place={place} />;
    case "watches":
      return <Watches />;
    case "watch":
      return <WatchPage key={route.id} id={route.id} />;
    case "delay":
      return (
        <DelayPage
          key={`${route.digest} ${route.number}`}
          digest={route.digest}
          number={route.number}
          place={place}
        />
      );
    case "machine":
      return (
        <MachinePage
          key={`${route.digest} ${route.number}`}
          digest={route.digest}
          number={route.number}
          place={place}
        />
      );
    case "account":
      return <OwnAccount session={session} />;
    case "accounts":
      return <Accounts session={session} />;
    case "audit":
      return <Audit session={session} place={place} />;
    case "compare":
      return <ComparePage place={place} />;
    case "who-delays-whom":
      return <WhoDelaysWhomPage place={place} />;
    case "rules":
      return <Rules session={session} place={place} />;
    case "rule":
      return <RulePage key={route.id} id={route.id} session={session} />;
    case "missing":
      return (
        <main id="main">
          <Title text="Page not found" />
          <Empty title="There is no page at this address.">
            <p>
              Go to the <a href="/">overview</a>.
            </p>
          </Empty>
        </main>
      );
  }
}

function Head({
  session,
  onSignOut,
  onZone,
}: {
  session: Session | null;
  onSignOut: () => void;
  onZone: () => void;
}) {
  const [theme, nextTheme] = useThemeChoice();
  const place = usePlace();
  const current = (path: string) => (place.path === path ? "page" : undefined);
  const [open, setOpen] = useState(false); // only on small screens
  useEffect(() => setOpen(false), [place.path]);
  return (
    <header class={open ? "head open" : "head"}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <a class="brand" href="/">
        lagtrap
      </a>
      <button type="button" class="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
        Menu
      </button>
      {session && (
        <nav aria-label="Pages">
          <a href="/" aria-current={current("/")}>
            Overview
          </a>
          <a href="/events" aria-current={current("/events")}>
            Events
          </a>
          <a href="/causes" aria-current={current("/causes")}>
            Causes
          </a>
          {session.who_delays_whom && (
            <a href="/who-delays-whom" aria-current={current("/who-delays-whom")}>
              Who delays whom
            </a>
          )}
          <a href="/bundles" aria-current={current("/bundles")}>
            Bundles
          </a>
          <a
            href="/objects"
            aria-current={
              current("/objects") ?? (place.path.startsWith("/watch") ? "true" : undefined)
            }>
            Objects
          </a>
          {session.role === "admin" && (
            <a href="/rules" aria-current={current("/rules")}>
              Alerts
            </a>
          )}
          {session.role === "admin" && (
            <a href="/accounts" aria-current={current("/accounts")}>
              Accounts
            </a>
          )}
          {session.role === "admin" && (
            <a href="/audit" aria-current={current("/audit")}>
              Audit
            </a>
          )}
        </nav>
      )}
      {session && <SearchBox />}
      <div class="head-end">
        <button
          type="button"
          class="quiet"
          onClick={onZone}
          title="Show times in UTC or in the time zone of this browser">
          Times: {zoneName()}
        </button>
        <button
          type="button"
          class="quiet"
          onClick={nextTheme}
          title="Colours: system, light or dark">
          Colours: {theme}
        </button>
        {session && session.account !== "" && (
          <>
            <span class="who">
              <a
                href="/account"
                aria-current={current("/account")}
                title="Your account: password and session">
                {session.account}
              </a>{" "}
              <span class="muted">{session.role}</span>
            </span>
            <button type="button" class="quiet" onClick={onSignOut}>
              Sign out
            </button>
          </>
        )}
      </div>
    </header>
  );
}

export function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [state, setState] = useState<"asking" | "in" | "out" | "failed">("asking");
  const [error, setError] = useState<ApiError | null>(null);
  const [utc, setUtc] = useState(inUtc);
  const changeZone = () => {
    chooseUtc(!utc);
    setUtc(!utc);
  };
  const leave = () => {
    forgetBuildNames();
    setSession(null);
    setState("out");
  };
  const ask = async () => {
    try {
      setSession(await get<Session>("/api/v1/session"));
      setState("in");
    } catch (problem) {
      const failure =
        problem instanceof ApiError
          ? problem
          : new ApiError(0, String(problem), "Reload the page.");
      setSession(null);
      setError(failure);
      setState(failure.status === 401 ? "out" : "failed");
    }
  };
  useEffect(() => {
    whenSignedOut(leave);
    void ask();
  }, []);
  const signOut = async () => {
    try {
      await send("DELETE", "/api/v1/session");
      leave();
    } catch (problem) {
      setError(problem as ApiError);
      setState("failed");
    }
  };
  return (
    <>
      <Head session={session} onSignOut={() => void signOut()} onZone={changeZone} />
      {state === "in" && session && <Page key={String(utc)} session={session} />}
      {state === "out" && <SignIn onSignedIn={() => void ask()} />}
      {state === "failed" && error && (
        <main id="main">
          <Failure error={error} again={() => void ask()} />
        </main>
      )}
      {state === "asking" && (
        <main id="main" class="loading" aria-busy="true">
          Loading…
        </main>
      )}
    </>
  );
}

// Shows the pages in an element of the document; call once.
export function start(app: HTMLElement): void {
  // Components use addresses within the pages; this converts them for the browser.
  const made = options.vnode;
  options.vnode = (vnode) => {
    const props = vnode.props as { href?: unknown };
    if (vnode.type === "a" && typeof props.href === "string") props.href = outer(props.href);
    made?.(vnode);
  };
  startTheme();
  followLinks();
  keepCellsLabelled(app);
  render(<App />, app);
}
