// Requests to the server.
import { outer } from "./base";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

const hints: Record<number, string> = {
  403: "Ask an admin of this server for a role with this permission.",
  404: "The server's retention may have removed it. Go back to the list of events.",
  429: "Wait a moment, then try again.",
  500: "Try again. If this persists, check the server's log.",
  503: "The server's store does not answer. Try again in a moment.",
};

let signed_out: () => void = () => {};

// Calls `call` whenever an answer says that the session has ended.
export function whenSignedOut(call: () => void): void {
  signed_out = call;
}

async function errorOf(response: Response): Promise<ApiError> {
  let message = `the server answered ${response.status}`;
  let hint = hints[response.status] ?? (response.status >= 500 ? hints[500] : "");
  try {
    const body = await response.json();
    if (typeof body?.error?.message === "string") message = body.error.message;
    if (typeof body?.error?.hint === "string" && body.error.hint !== "") hint = body.error.hint;
    else if (typeof body?.error === "string") message = body.error;
  } catch {
    // Not JSON, so only the status is known.
  }
  return new ApiError(response.status, message, hint);
}

async function request(path: string, options: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(outer(path), { credentials: "same-origin", ...options });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(
      0,
      "the server does not answer",
      "Check that lagtrap-server is running and the network works, then try again.",
    );
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (error.status === 401) signed_out();
  throw error;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, { signal, headers: { Accept: "application/json" } });
  return (await response.json()) as T;
}

export async function getBytes(path: string): Promise<ArrayBuffer> {
  return (await request(path, {})).arrayBuffer();
}

export async function send<T>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const options: RequestInit = { method, signal, headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { ...options.headers, "Content-Type": "application/json" };
  }
  const response = await request(path, options);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}
