// Loads data for components: the latest answer, whether a request is running, and its error.
import { useEffect, useState } from "preact/hooks";
import { ApiError, get, send } from "./api";

export interface Loaded<T> {
  // Kept while a newer answer is loading, so that the page does not flicker, and while the server
  // does not answer.
  data: T | null;
  at_ms: number; // when `data` came
  loading: boolean;
  error: ApiError | null;
  reload: () => void;
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(
    0,
    `the server's answer is invalid: ${(error as Error).message}`,
    "Reload the page.",
  );
}

const again_ms = 5000; // between attempts while old data is shown

// Whether the same request may succeed later.
function isTemporary(error: ApiError): boolean {
  return error.status < 400 || error.status === 429 || error.status >= 500;
}

function useTask<T>(key: string | null, task: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({
    data: null,
    at_ms: 0,
    loading: key !== null,
    error: null,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (key === null) {
      setState({ data: null, at_ms: 0, loading: false, error: null });
      return;
    }
    const abort = new AbortController();
    // An error stays until the next answer if its data does.
    setState((old) => ({ ...old, loading: true, error: old.data === null ? null : old.error }));
    task(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted)
          setState({ data, at_ms: Date.now(), loading: false, error: null });
      },
      (problem) => {
        if (abort.signal.aborted) return;
        const error = asApiError(problem);
        setState((old) =>
          isTemporary(error)
            ? { ...old, loading: false, error }
            : { data: null, at_ms: 0, loading: false, error },
        );
      },
    );
    return () => abort.abort();
  }, [key, turn]);
  const waits = state.error !== null && state.data !== null && !state.loading;
  useEffect(() => {
    if (!waits) return undefined;
    const timer = setTimeout(() => setTurn((old) => old + 1), again_ms);
    return () => clearTimeout(timer);
  }, [waits]);
  return { ...state, reload: () => setTurn((old) => old + 1) };
}

// Null requests nothing. What has a begin and no end is requested again if the page is drawn in
// another minute.
export function useGet<T>(path: string | null): Loaded<T> {
  const ends_now = path !== null && /[?&]from=/.test(path) && !/[?&]to=/.test(path);
  const key = ends_now ? `${path} ${Math.floor(Date.now() / 60e3)}` : path;
  return useTask<T>(key, (signal) => get<T>(path as string, signal));
}

export function usePost<T>(path: string | null, body: unknown): Loaded<T> {
  const key = path === null ? null : `${path} ${JSON.stringify(body)}`;
  return useTask<T>(key, (signal) => send<T>("POST", path as string, body, signal));
}

export interface Parts<T> {
  parts: T[];
  next: string | null;
  problem: ApiError | null;
  more: () => void; // loads the next part
}

// The further parts of a list whose first part is loaded from `path`, which must have a query.
export function useFurther<T extends { next: string | null }>(
  first: Loaded<T>,
  path: string,
): Parts<T> {
  const [rest, setRest] = useState<{ of: T | null; parts: T[] }>({ of: null, parts: [] });
  const [problem, setProblem] = useState<{ of: T | null; error: ApiError } | null>(null);
  const start = first.data;
  const parts = start ? [start, ...(rest.of === start ? rest.parts : [])] : [];
  const next = parts.length > 0 ? parts[parts.length - 1].next : null;
  const more = () => {
    setProblem(null);
    get<T>(`${path}&after=${encodeURIComponent(next ?? "")}`).then(
      (part) =>
        setRest((old) => ({ of: start, parts: [...(old.of === start ? old.parts : []), part] })),
      (error) => setProblem({ of: start, error: asApiError(error) }),
    );
  };
  return {
    parts,
    next,
    problem: problem !== null && problem.of === start ? problem.error : null,
    more,
  };
}

// A list in parts: loads the first part at once and others on request. `path` must have a query.
export function useMore<T extends { next: string | null }>(path: string): Parts<T> {
  const first = useGet<T>(path);
  const further = useFurther(first, path);
  return {
    ...further,
    problem: further.problem ?? first.error,
    more: further.next === null && first.error ? first.reload : further.more,
  };
}

export interface Followed<T> {
  data: T | null; // the last answer; kept when a later request fails
  error: ApiError | null;
}

// Requests again `every_ms` after each answer, while `goesOn` of the last answer is true, it is not
// paused, and the page is visible.
export function useFollowed<T>(
  path: string,
  every_ms: number,
  paused: boolean,
  goesOn: (data: T) => boolean,
): Followed<T> {
  const [state, setState] = useState<Followed<T>>({ data: null, error: null });
  useEffect(() => {
    if (paused) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waits = false; // until the page is visible
    const ask = () => {
      waits = document.hidden;
      if (waits) return;
      get<T>(path, abort.signal).then(
        (data) => {
          if (abort.signal.aborted) return;
          setState({ data, error: null });
          if (goesOn(data)) timer = setTimeout(ask, every_ms);
        },
        (error) => {
          if (abort.signal.aborted) return;
          const problem = asApiError(error);
          setState((old) => ({ data: old.data, error: problem }));
          if (isTemporary(problem)) timer = setTimeout(ask, every_ms);
        },
      );
    };
    const seen = () => {
      if (waits && !document.hidden) ask();
    };
    document.addEventListener("visibilitychange", seen);
    ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [path, every_ms, paused]);
  return state;
}

// The current time in milliseconds; rerenders every `every_ms` while the page is visible.
export function useClock(every_ms: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = () => {
      if (!document.hidden) setNow(Date.now());
    };
    const timer = setInterval(tick, every_ms);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [every_ms]);
  return now;
}
