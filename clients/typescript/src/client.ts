/**
 * A document with the types of its data and of its variables: a text, as GraphQL Code Generator writes it with
 * `documentMode: "string"`, or a tree (`TypedDocumentNode`).
 */
export type TypedDocument<TData, TVariables> = (String | { readonly kind: string; readonly definitions: readonly unknown[] }) & {
  readonly __apiType?: (variables: TVariables) => TData;
};

/** A document of this package. */
export class TypedDocumentString<TData, TVariables> extends String {
  declare readonly __apiType?: (variables: TVariables) => TData;
}

/** The arguments behind a document: the variables can be left out where none is required. */
export type Arguments<TVariables, TOptions> =
  Record<string, never> extends TVariables
    ? [variables?: TVariables, options?: TOptions]
    : [variables: TVariables, options?: TOptions];

/** An error as GraphQL responses have it. */
export interface ResponseError {
  message: string;
  path?: (string | number)[];
  extensions?: {
    code?: string;
    /** Names that resemble one that does not exist. */
    nearest?: string[];
    /** Hashes that start with an ambiguous prefix. */
    candidates?: { hash: string; title: string }[];
    [name: string]: unknown;
  };
}

/** A query is refused, or fields of it failed. */
export class QueryError extends Error {
  constructor(
    readonly errors: ResponseError[],
    readonly status: number,
    /** The fields that did not fail; null if the query is refused. */
    readonly data: unknown = null,
    /** Seconds after which to try again, if the server says so. */
    readonly retryAfter: number | null = null,
  ) {
    super(errors.map(({ message }) => message).join("; ") || `the server answers with status ${status}`);
    this.name = "QueryError";
  }

  /** What tells errors apart: `REVISION_NOT_FOUND`, `OVERLOADED`, … */
  get code(): string | undefined {
    return this.errors[0]?.extensions?.code;
  }
}

export interface ClientOptions {
  /** In place of the global one. */
  fetch?: typeof fetch;
  headers?: Record<string, string>;
  /** How many responses are cached and revalidated; browsers do so by themselves, so there it is 0; elsewhere 100. */
  maxCached?: number;
  /** `print` of the package graphql: needed for documents that are trees. */
  print?: (document: never) => string;
  /** How often a request is repeated that the server refuses for now (Retry-After); by default 2 times. */
  retries?: number;
}

export interface QueryOptions {
  /** Ends the request, and the wait for another try. */
  signal?: AbortSignal;
}

interface Page {
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
}

interface Body {
  data?: unknown;
  errors?: ResponseError[];
}

/** Proxies may refuse longer ones. */
const MAX_URL = 2000;
const MAX_WAIT_SECONDS = 60;

/** Queries one server: by GET, and by the hash of a document, so that responses can be cached. */
export class Client {
  readonly #endpoint: string;
  readonly #options: ClientOptions;
  readonly #maxCached: number;
  readonly #cache = new Map<string, { etag: string; body: Body }>();
  readonly #hashes = new Map<string, Promise<string | null>>();

  /** `endpoint` is the address of the API: `https://example.org/graphql`. */
  constructor(endpoint: string, options: ClientOptions = {}) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#maxCached = options.maxCached ?? ("document" in globalThis ? 0 : 100);
  }

  /** Return the data that answers a document; throws QueryError, and what `fetch` throws. */
  async query<TData, TVariables>(
    document: TypedDocument<TData, TVariables>,
    ...[variables, { signal } = {}]: Arguments<TVariables, QueryOptions>
  ): Promise<TData> {
    for (let retries = this.#options.retries ?? 2; ; retries -= 1) {
      try {
        return (await this.#send(this.#textOf(document), variables, signal)) as TData;
      } catch (error) {
        const seconds = error instanceof QueryError && retries > 0 ? error.retryAfter : null;
        if (seconds === null || seconds > MAX_WAIT_SECONDS) throw error;
        await wait(seconds, signal);
      }
    }
  }

  /**
   * Yield the pages of a list: `select` returns its connection from the data, and the document passes a
   * variable `after` to it.
   */
  async *pages<TData, TVariables extends { after?: string | null | undefined }, TPage extends Page>(
    document: TypedDocument<TData, TVariables>,
    variables: TVariables,
    select: (data: TData) => TPage | null | undefined,
    options?: QueryOptions,
  ): AsyncGenerator<TPage, void, undefined> {
    let after = variables.after;
    for (;;) {
      const args = [{ ...variables, after }, options] as unknown as Arguments<TVariables, QueryOptions>;
      const page = select(await this.query(document, ...args));
      if (!page) return;
      yield page;
      if (!page.pageInfo.hasNextPage) return;
      after = page.pageInfo.endCursor;
    }
  }

  #textOf(document: TypedDocument<unknown, never>): string {
    if (document instanceof String || typeof document === "string") return document.toString();
    if (!this.#options.print) throw new TypeError("a document that is a tree needs the option print");
    return this.#options.print(document as never);
  }

  async #send(text: string, variables: unknown, signal?: AbortSignal): Promise<unknown> {
    const hash = await this.#hashOf(text);
    const persisted = hash === null ? {} : { persistedQuery: { version: 1, sha256Hash: hash } };
    const url = new URL(this.#endpoint, globalThis.location?.href);
    if (hash === null) url.searchParams.set("query", text);
    else url.searchParams.set("extensions", JSON.stringify(persisted));
    if (variables) url.searchParams.set("variables", JSON.stringify(variables));
    if (url.href.length <= MAX_URL) {
      try {
        return await this.#get(url.href, signal);
      } catch (error) {
        if (!(error instanceof QueryError) || !isUnknownDocument(error)) throw error;
      }
    }
    return this.#post(JSON.stringify({ query: text, variables, extensions: persisted }), signal);
  }

  async #get(url: string, signal?: AbortSignal): Promise<unknown> {
    const cached = this.#cache.get(url);
    const response = await this.#fetch(url, { headers: cached ? { "If-None-Match": cached.etag } : {}, signal });
    if (cached && response.status === 304) return dataOf(cached.body, response);
    const body = await bodyOf(response);
    const etag = response.headers.get("ETag");
    if (etag && this.#maxCached > 0 && !body.errors) {
      this.#cache.delete(url); // the latest is the last
      this.#cache.set(url, { etag, body });
      for (const oldest of this.#cache.keys()) {
        if (this.#cache.size <= this.#maxCached) break;
        this.#cache.delete(oldest);
      }
    }
    return dataOf(body, response);
  }

  async #post(body: string, signal?: AbortSignal): Promise<unknown> {
    const headers = { "Content-Type": "application/json" };
    const response = await this.#fetch(this.#endpoint, { method: "POST", headers, body, signal });
    return dataOf(await bodyOf(response), response);
  }

  #fetch(url: string, init: { headers: Record<string, string> } & RequestInit): Promise<Response> {
    const { fetch = globalThis.fetch, headers } = this.#options;
    return fetch(url, { ...init, headers: { Accept: "application/json", ...init.headers, ...headers } });
  }

  /** Null where there is no cryptography: in pages of plain HTTP. */
  #hashOf(text: string): Promise<string | null> {
    let hash = this.#hashes.get(text);
    if (!hash) this.#hashes.set(text, (hash = sha256(text)));
    return hash;
  }
}

function isUnknownDocument({ code }: QueryError): boolean {
  return code === "PERSISTED_QUERY_NOT_FOUND" || code === "PERSISTED_QUERY_NOT_SUPPORTED";
}

async function sha256(text: string): Promise<string | null> {
  if (!globalThis.crypto?.subtle) return null;
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function wait(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => (clearTimeout(timer), reject(signal?.reason));
    const timer = setTimeout(() => (signal?.removeEventListener("abort", abort), resolve()), seconds * 1000);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}

async function bodyOf(response: Response): Promise<Body> {
  try {
    return (await response.json()) as Body;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error; // the signal
    throw new QueryError([], response.status, null, secondsOf(response));
  }
}

function dataOf({ data, errors }: Body, response: Response): unknown {
  if (errors) throw new QueryError(errors, response.status, data ?? null, secondsOf(response));
  return data;
}

function secondsOf(response: Response): number | null {
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return Number.isNaN(seconds) ? null : seconds;
}
