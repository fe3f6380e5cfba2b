// A user's action on a page, and its errors.
import { useState } from "preact/hooks";
import { ApiError } from "./api";

export type Act = (work: () => Promise<void>) => Promise<boolean>;

export function useAction(reload: () => void): { problem: ApiError | null; act: Act } {
  const [problem, setProblem] = useState<ApiError | null>(null);
  const act = async (work: () => Promise<void>) => {
    setProblem(null);
    try {
      await work();
      reload();
      return true;
    } catch (error) {
      setProblem(error instanceof ApiError ? error : new ApiError(0, String(error), "Try again."));
      return false;
    }
  };
  return { problem, act };
}
