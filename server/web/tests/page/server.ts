// A made-up server: tests give its answers and see the requests of the pages.

export interface Request {
  method: string;
  path: string; // with its query
  body: unknown;
}

// An answer other than 200.
export class Refusal {
  constructor(
    readonly status: number,
    readonly message?: string,
    readonly hint?: string,
  ) {}
}

export const pending = Symbol("an answer that does not come");
export const unreachable = Symbol("no server");
export const done = Symbol("204, without a body");

// By the path of the request: with the query if the key has one, else without; with the method in
// front if it is not GET. A function is asked at each request, and may promise an answer for later.
export type Answers = Record<string, unknown>;

let answers: Answers = {};
let requests: Request[] = [];

export function answerWith(given: Answers): void {
  answers = given;
}

export function takeRequests(): Request[] {
  const made = requests;
  requests = [];
  return made;
}

function find(request: Request): unknown {
  const method = request.method === "GET" ? "" : `${request.method} `;
  const keys = [method + request.path, method + request.path.split("?")[0]];
  const key = keys.find((one) => one in answers);
  if (key === undefined) return new Refusal(404, `no answer for ${method}${request.path}`);
  const given = answers[key];
  return typeof given === "function" ? given(request) : given;
}

function responseOf(answer: unknown): object {
  if (answer instanceof Refusal)
    return {
      ok: false,
      status: answer.status,
      json: async () => {
        if (answer.message === undefined) throw new Error("not JSON");
        return { error: { message: answer.message, hint: answer.hint } };
      },
    };
  return {
    ok: true,
    status: answer === done ? 204 : 200,
    json: async () => {
      if (answer === done || typeof answer === "string") throw new Error("not JSON");
      return structuredClone(answer);
    },
    arrayBuffer: async () => new ArrayBuffer(8),
  };
}

globalThis.fetch = (async (path: string, options: RequestInit = {}) => {
  const body = options.body === undefined ? undefined : JSON.parse(String(options.body));
  const request = { method: options.method ?? "GET", path, body };
  requests.push(request);
  const answer = await find(request);
  if (answer === unreachable) throw new TypeError("failed to fetch");
  if (answer === pending) return new Promise(() => {});
  return responseOf(answer);
}) as never;
