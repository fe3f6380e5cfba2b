// Small components that all pages share.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "./api";
import { fitName, foldName, shortenMiddle } from "./names";
import { baseName, formatAge, formatTime, frameName, millisecondsOf, plural } from "./format";
import { zoneName } from "./zone";
import type { Loaded } from "./load";
import type { CauseRecord, Frame } from "./types";
import { isTyping } from "./typing";

// The heading gets the focus when the page opens, so that screen readers announce the page, unless
// somebody types in a field.
export function Title({ children, text }: { children?: ComponentChildren; text: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${text} · lagtrap`;
    if (!isTyping(document.activeElement)) heading.current?.focus({ preventScroll: true });
  }, [text]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? text}
    </h1>
  );
}

export function Failure({ error, again }: { error: ApiError; again?: () => void }) {
  return (
    <div class="notice failure" role="alert">
      <p>
        <strong>That did not work: {error.message}.</strong>
      </p>
      {error.hint !== "" && <p>{error.hint}</p>}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="notice">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  );
}

// Shows progress and errors while something loads, then `children`; above older data, that the
// server does not answer.
export function Ready<T>({
  of,
  children,
  height,
}: {
  of: Loaded<T>;
  children: (data: T) => ComponentChildren;
  height?: number;
}) {
  if (of.error && of.data === null) return <Failure error={of.error} again={of.reload} />;
  if (of.data === null) {
    return (
      <div class="loading" role="status" style={height ? { minHeight: `${height}px` } : undefined}>
        Loading…
      </div>
    );
  }
  return (
    <>
      {of.error && (
        <p class="notice failure" role="status" data-testid="outdated">
          <strong>Not updated: {of.error.message}.</strong> Showing data from{" "}
          {formatTime(String(BigInt(of.at_ms) * 1000000n)).slice(11, 19)}; trying again every few
          seconds.
        </p>
      )}
      <div
        class={of.loading && !of.error ? "stale" : undefined}
        aria-busy={of.loading && !of.error}>
        {children(of.data)}
      </div>
    </>
  );
}

// Where a function begins, after its name: the file and line of "/src/main.c:12".
export function SourcePlace({ place }: { place: string }) {
  if (place === "") return null;
  return (
    <span class="muted" title={place}>
      {" "}
      {place.slice(place.lastIndexOf("/") + 1)}
    </span>
  );
}

export function Section({
  title,
  aside,
  children,
  id,
}: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
  id?: string;
}) {
  return (
    <section class="panel" aria-label={title} id={id}>
      <header class="panel-head">
        <h2>{title}</h2>
        {aside && <div class="panel-aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

// A table that may be wider than the page and can be scrolled with the keyboard.
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}

// A long table that may be wider than the page.
export function Wide({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="wide-table" tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}

export function Time({
  ns,
  age = false,
  precise = false,
}: {
  ns: string;
  age?: boolean;
  precise?: boolean;
}) {
  const full = formatTime(ns, precise);
  return <time title={`${full} ${zoneName()}`}>{age ? formatAge(ns, Date.now()) : full}</time>;
}

const max_figure = 36;

// Long names may wrap after a separator, but not within a word.
function breakable(text: string): ComponentChildren {
  return text.split(/(?<=[-._/:@…])(?=[^\d\s])/).map((part, index) =>
    index === 0 ? (
      part
    ) : (
      <>
        <wbr />
        {part}
      </>
    ),
  );
}

export function Figure({
  label,
  value,
  note,
  tone,
}: {
  label: string;
  value: string;
  note?: string;
  tone?: "bad";
}) {
  return (
    <div class={`figure ${tone ?? ""}`}>
      <dt>{label}</dt>
      <dd title={value.length > max_figure ? value : undefined}>
        {breakable(shortenMiddle(value, max_figure))}
        {note && <small>{note}</small>}
      </dd>
    </div>
  );
}

// "New" expires: after a week a cause counts as known, whether or not somebody set that.
export function causeStatus(cause: CauseRecord, now_ms = Date.now()): CauseRecord["status"] {
  const week_ms = 7 * 86400e3;
  return cause.status === "new" && now_ms - millisecondsOf(cause.noticed_ns) > week_ms
    ? "known"
    : cause.status;
}

export function CauseStatusTag({ cause }: { cause: CauseRecord }) {
  const status = causeStatus(cause);
  return (
    <span class={`state ${status === "regressed" || status === "new" ? "worse" : ""}`}>
      {status}
    </span>
  );
}

export function Swatch({ colour }: { colour: string }) {
  return <span class="swatch" aria-hidden="true" style={{ backgroundColor: colour }} />;
}

// A choice between a few values: a group of buttons, one of them pressed.
export function Choice<T extends string>({
  label,
  value,
  options,
  onChoose,
}: {
  label: string;
  value: T;
  options: [T, string][];
  onChoose: (value: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value}
          onClick={() => onChoose(option)}>
          {text}
        </button>
      ))}
    </div>
  );
}

const max_name = 160;

// A long name of a unit or file: both ends, the whole in the title.
export function Shortened({ text, most = 40 }: { text: string; most?: number }) {
  return text.length <= most ? <>{text}</> : <span title={text}>{shortenMiddle(text, most)}</span>;
}

// A function's name without template arguments, the full name on click. With `still`, for links and
// summaries that need the click themselves, the full name is in the title.
export function FunctionName({ name, still = false }: { name: string; still?: boolean }) {
  const [whole, setWhole] = useState(false);
  const folded = fitName(foldName(name), max_name);
  if (folded === name)
    return (
      <span class="code">
        <Breakable name={name} />
      </span>
    );
  if (still)
    return (
      <span class="code" title={name}>
        <Breakable name={folded} />
      </span>
    );
  return (
    <button
      type="button"
      class="code function-name"
      title={name}
      aria-expanded={whole}
      onClick={() => setWhole(!whole)}>
      <Breakable name={whole ? name : folded} />
    </button>
  );
}

const max_title = 240;

// The title of a cause: a sentence with names of functions, whose template arguments are in the
// title.
export function CauseTitle({ title }: { title: string }) {
  const shown = shortenMiddle(foldName(title), max_title);
  return (
    <span class="cause-words" title={shown === title ? undefined : title}>
      <Breakable name={shown} />
    </span>
  );
}

// A name that lines break between its parts rather than within words.
function Breakable({ name }: { name: string }) {
  const parts = name.split(/(?=::|[(,/])/);
  return <>{parts.map((part, index) => [index > 0 && <wbr key={index} />, part])}</>;
}

export function StackList({ frames, most = 12 }: { frames: Frame[]; most?: number }) {
  const [all, setAll] = useState(false);
  if (frames.length === 0)
    return (
      <p class="muted">
        No call stack was recorded here; see <code>stacks</code> in the settings.
      </p>
    );
  const shown = all ? frames : frames.slice(0, most);
  return (
    <div>
      <ol class="stack">
        {shown.map((frame, index) => (
          <li key={index}>
            <FunctionName name={frameName(frame)} />
            <span
              class="muted"
              title={
                frame.file === "" ? frame.module : `${frame.file}:${frame.line} in ${frame.module}`
              }>
              {frame.file === ""
                ? frame.function === ""
                  ? ""
                  : baseName(frame.module)
                : `${baseName(frame.file)}:${frame.line}`}
            </span>
          </li>
        ))}
      </ol>
      {frames.length > most && (
        <button type="button" class="quiet" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show ${plural(frames.length - most, "more caller")}`}
        </button>
      )}
    </div>
  );
}

// The text that lagtrapd writes instead of a password, token or key
// (daemon/processes/command_line_mask.hpp).
const MASK = "***";

// Explains the mask if one of these texts contains it.
export function MaskedNote({ texts }: { texts: string[] }) {
  if (!texts.some((text) => text.includes(MASK))) return null;
  return (
    <p class="muted" data-testid="masked">
      {MASK} is a password, token or key that lagtrapd masked.
    </p>
  );
}

// A button that asks for confirmation in its own place.
export function Confirm({
  text,
  question,
  onConfirm,
}: {
  text: string;
  question: string;
  onConfirm: () => void;
}) {
  const [asking, setAsking] = useState(false);
  if (!asking)
    return (
      <button type="button" onClick={() => setAsking(true)}>
        {text}
      </button>
    );
  return (
    <span class="confirm" role="group" aria-label={question}>
      <button
        type="button"
        class="danger"
        autoFocus
        onClick={() => {
          setAsking(false);
          onConfirm();
        }}>
        {question}
      </button>
      <button type="button" onClick={() => setAsking(false)}>
        Cancel
      </button>
    </span>
  );
}
