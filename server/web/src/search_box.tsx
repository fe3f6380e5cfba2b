// The search in the header: the key / moves there, arrows choose a result, Enter opens it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, get } from "./api";
import { foldName, shortenMiddle } from "./names";
import { navigate } from "./router";
import { type Hit, hitsOf } from "./search";
import type { Found } from "./types";
import { isTyping } from "./typing";

const pause_ms = 150;
const max_hit = 140;

export function SearchBox() {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [answer, setAnswer] = useState<{ query: string; found: Found } | null>(null);
  const [problem, setProblem] = useState("");
  const box = useRef<HTMLFormElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const query = text.trim();
  // As soon as the box can be seen, its key works.
  useLayoutEffect(() => {
    const key = (pressed: KeyboardEvent) => {
      if (
        pressed.key !== "/" ||
        pressed.ctrlKey ||
        pressed.metaKey ||
        pressed.altKey ||
        isTyping(pressed.target)
      )
        return;
      pressed.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    const outside = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("keydown", key);
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    return () => {
      document.removeEventListener("keydown", key);
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
    };
  }, []);
  useEffect(() => {
    if (query === "") {
      setAnswer(null);
      return undefined;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => {
      get<Found>(`/api/v1/search?search=${encodeURIComponent(query)}`, abort.signal).then(
        (found) => {
          setProblem("");
          setAnswer({ query, found });
        },
        (error) =>
          !abort.signal.aborted &&
          setProblem(error instanceof ApiError ? error.message : String(error)),
      );
    }, pause_ms);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query]);
  const hits = answer === null ? [] : hitsOf(answer.query, answer.found);
  const openHit = (hit: Hit) => {
    setOpen(false);
    setText("");
    input.current?.blur();
    navigate(hit.address);
  };
  const move = (step: number) => {
    const places = [
      input.current,
      ...(box.current?.querySelectorAll<HTMLElement>(".hits a") ?? []),
    ];
    const next = places.indexOf(document.activeElement as HTMLElement) + step;
    places[(next + places.length) % places.length]?.focus();
  };
  return (
    <form
      class="search-box"
      role="search"
      aria-label="Everything"
      ref={box}
      onSubmit={(submit) => {
        submit.preventDefault();
        if (hits.length > 0 && answer?.query === query) openHit(hits[0]);
      }}
      onKeyDown={(pressed) => {
        if (pressed.key === "Escape") {
          input.current?.focus(); // opens the list
          setOpen(false);
        } else if (pressed.key === "ArrowDown" || pressed.key === "ArrowUp") {
          pressed.preventDefault();
          move(pressed.key === "ArrowDown" ? 1 : -1);
        }
      }}>
      <input
        ref={input}
        type="search"
        name="find"
        aria-label="Find"
        placeholder="Find  ( / )"
        autocomplete="off"
        maxLength={256}
        value={text}
        title={
          "Event, cause, function, library, host, build, unit, process or user; a trace ID; " +
          "the number of a run; the digest of a bundle"
        }
        onFocus={() => setOpen(true)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
        }}
      />
      {open && query !== "" && (
        <div class="hits" data-testid="hits">
          {problem !== "" ? (
            <p role="alert">That did not work: {problem}.</p>
          ) : answer === null ? (
            <p class="muted">Searching…</p>
          ) : hits.length === 0 ? (
            <p role="status">Nothing found for “{shortenMiddle(answer.query, 60)}”.</p>
          ) : (
            <ul>
              {hits.map((hit) => (
                <li key={`${hit.kind} ${hit.address}`}>
                  <a
                    href={hit.address}
                    onClick={(click) => {
                      if (!click.ctrlKey && !click.metaKey && click.button === 0) {
                        click.preventDefault();
                        openHit(hit);
                      }
                    }}>
                    <span class="hit-kind">{hit.kind}</span>{" "}
                    <span class="hit-text" title={hit.text}>
                      {shortenMiddle(foldName(hit.text), max_hit)}
                    </span>{" "}
                    <span class="muted">{shortenMiddle(hit.note, 40)}</span>
                  </a>
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </form>
  );
}
