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
