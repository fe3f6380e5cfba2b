// Loading for a component: what it asked for last, while that comes, and what went wrong.
import { useEffect, useState } from "preact/hooks";
import { ApiError, get, send } from "./api";

export interface Loaded<T> {
  // Kept while a newer answer is on its way, so that a page does not blink.
  data: T | null;
  loading: boolean;
  error: ApiError | null;
  reload: () => void;
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, `the answer could not be understood: ${(error as Error).message}`, "Load the page again.");
}

function useTask<T>(key: string | null, task: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; loading: boolean; error: ApiError | null; key: string | null }>({
    data: null,
    loading: key !== null,
    error: null,
    key: null,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (key === null) {
      setState({ data: null, loading: false, error: null, key: null });
      return;
    }
    const abort = new AbortController();
    setState((old) => ({ ...old, loading: true, error: null }));
    task(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setState({ data, loading: false, error: null, key });
      },
      (error) => {
        if (!abort.signal.aborted) setState({ data: null, loading: false, error: asApiError(error), key });
      },
    );
    return () => abort.abort();
  }, [key, turn]);
  return { data: state.data, loading: state.loading, error: state.error, reload: () => setTurn((old) => old + 1) };
}

// Null asks for nothing.
export function useGet<T>(path: string | null): Loaded<T> {
  return useTask<T>(path, (signal) => get<T>(path as string, signal));
}

export function usePost<T>(path: string | null, body: unknown): Loaded<T> {
  const key = path === null ? null : `${path} ${JSON.stringify(body)}`;
  return useTask<T>(key, (signal) => send<T>("POST", path as string, body, signal));
}

export interface Parts<T> {
  parts: T[];
  next: string | null;
  problem: ApiError | null;
  more: () => void; // the part after the last
}

// The further parts of a list whose first one is loaded from `path`, which has a query.
export function useFurther<T extends { next: string | null }>(first: Loaded<T>, path: string): Parts<T> {
  const [rest, setRest] = useState<{ of: T | null; parts: T[] }>({ of: null, parts: [] });
  const [problem, setProblem] = useState<{ of: T | null; error: ApiError } | null>(null);
  const start = first.data;
  const parts = start ? [start, ...(rest.of === start ? rest.parts : [])] : [];
  const next = parts.length > 0 ? parts[parts.length - 1].next : null;
  const more = () => {
    setProblem(null);
    get<T>(`${path}&after=${encodeURIComponent(next ?? "")}`).then(
      (part) => setRest((old) => ({ of: start, parts: [...(old.of === start ? old.parts : []), part] })),
      (error) => setProblem({ of: start, error: asApiError(error) }),
    );
  };
  return { parts, next, problem: problem !== null && problem.of === start ? problem.error : null, more };
}

// A list that comes in parts: the first at once, others when asked for. `path` has a query.
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
  data: T | null; // the last answer; kept when a later one fails
  error: ApiError | null;
}

// Asks again `every_ms` after each answer while `goesOn` says so of the last one, nothing is paused and somebody can see the page.
export function useFollowed<T>(path: string, every_ms: number, paused: boolean, goesOn: (data: T) => boolean): Followed<T> {
  const [state, setState] = useState<Followed<T>>({ data: null, error: null });
  useEffect(() => {
    if (paused) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waits = false; // for the page to be seen
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
          // Refused or gone for good; others may end by themselves.
          if (problem.status < 400 || problem.status === 429 || problem.status >= 500) timer = setTimeout(ask, every_ms);
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

// The time now, in milliseconds; the page is drawn anew every `every_ms` while somebody can see it.
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
