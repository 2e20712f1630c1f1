/** A document with the types of its answer and of its variables. */
export interface TypedDocument<TData, TVariables> {
  readonly name: string;
  readonly text: string;
  /** Only for the compiler: there is no such property. */
  readonly types?: (variables: TVariables) => TData;
}

/** The variables of a document as the last argument: it can be left out where none is required. */
export type Variables<TVariables> = Record<string, never> extends TVariables ? [TVariables?] : [TVariables];

/** An error as GraphQL responses have it. */
export interface ResponseError {
  message: string;
  path?: (string | number)[];
  extensions?: { code?: string; nearest?: string[]; [name: string]: unknown };
}

/** A question that was refused, or a field that failed: `data` is what was answered beside it. */
export class AskError extends Error {
  constructor(
    readonly errors: ResponseError[],
    readonly status: number,
    readonly data: unknown = null,
    /** Seconds after which to ask again, if the server says so. */
    readonly retryAfter: number | null = null,
  ) {
    super(errors[0]?.message ?? `the server answers with status ${status}`);
    this.name = "AskError";
  }

  /** What programs tell errors apart by: `REVISION_NOT_FOUND`, `RATE_LIMITED`, … */
  get code(): string | undefined {
    return this.errors[0]?.extensions?.code;
  }
}

export interface Options {
  /** In place of the global one. */
  fetch?: typeof fetch;
  headers?: Record<string, string>;
  /**
   * How many answers are kept to be revalidated by their ETag. Browsers do so by themselves, so there it
   * is 0; elsewhere 100.
   */
  kept?: number;
}

interface Page {
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
}

interface Body {
  data?: unknown;
  errors?: ResponseError[];
}

/** Addresses that are longer may be cut off on their way. */
const LONGEST_ADDRESS = 2000;

/** Asks one server: by GET, and by the hash of a document, so that answers are cached on their way. */
export class Client {
  readonly #endpoint: string;
  readonly #fetch: typeof fetch;
  readonly #headers: Record<string, string>;
  readonly #numKept: number;
  readonly #kept = new Map<string, { etag: string; body: Body }>();
  readonly #hashes = new Map<string, Promise<string | null>>();

  /** `endpoint` is the address of the API: `https://example.org/graphql`. */
  constructor(endpoint: string, options: Options = {}) {
    this.#endpoint = endpoint;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#headers = { Accept: "application/json", ...options.headers };
    this.#numKept = options.kept ?? ("document" in globalThis ? 0 : 100);
  }

  /** Return the answer to a document; throws AskError. */
  async ask<TData, TVariables>(
    document: TypedDocument<TData, TVariables>,
    ...[variables]: Variables<TVariables>
  ): Promise<TData> {
    const hash = await this.#hashOf(document.text);
    const persisted = hash === null ? {} : { persistedQuery: { version: 1, sha256Hash: hash } };
    const address = new URL(this.#endpoint, globalThis.location?.href);
    if (hash === null) address.searchParams.set("query", document.text);
    else address.searchParams.set("extensions", JSON.stringify(persisted));
    if (variables) address.searchParams.set("variables", JSON.stringify(variables));
    if (address.href.length <= LONGEST_ADDRESS) {
      try {
        return (await this.#get(address.href)) as TData;
      } catch (error) {
        if (!(error instanceof AskError) || !isUnknownDocument(error)) throw error;
      }
    }
    const body = { query: document.text, variables, ...(hash && { extensions: persisted }) };
    return (await this.#post(JSON.stringify(body))) as TData;
  }

  /**
   * Yield the pages of a list: `select` returns its connection in an answer, and the document passes a
   * variable `after` to it.
   */
  async *pages<TData, TVariables extends { after?: string | null | undefined }, TPage extends Page>(
    document: TypedDocument<TData, TVariables>,
    variables: TVariables,
    select: (data: TData) => TPage | null | undefined,
  ): AsyncGenerator<TPage, void, undefined> {
    let after = variables.after;
    for (;;) {
      const asked = { ...variables, after } as TVariables;
      const page = select(await (this.ask as (...args: unknown[]) => Promise<TData>).call(this, document, asked));
      if (!page) return;
      yield page;
      if (!page.pageInfo.hasNextPage) return;
      after = page.pageInfo.endCursor;
    }
  }

  async #get(address: string): Promise<unknown> {
    const kept = this.#kept.get(address);
    const headers = { ...this.#headers, ...(kept && { "If-None-Match": kept.etag }) };
    const response = await this.#fetch(address, { headers });
    if (kept && response.status === 304) return dataOf(kept.body, response);
    const body = await bodyOf(response);
    const etag = response.headers.get("ETag");
    if (etag && this.#numKept > 0 && !body.errors) {
      this.#kept.delete(address); // what is asked again is the newest
      this.#kept.set(address, { etag, body });
      for (const oldest of this.#kept.keys()) {
        if (this.#kept.size <= this.#numKept) break;
        this.#kept.delete(oldest);
      }
    }
    return dataOf(body, response);
  }

  async #post(content: string): Promise<unknown> {
    const headers = { ...this.#headers, "Content-Type": "application/json" };
    const response = await this.#fetch(this.#endpoint, { method: "POST", headers, body: content });
    return dataOf(await bodyOf(response), response);
  }

  /** Null where there is no cryptography: in pages of plain HTTP. */
  #hashOf(text: string): Promise<string | null> {
    let hash = this.#hashes.get(text);
    if (!hash) this.#hashes.set(text, (hash = sha256(text)));
    return hash;
  }
}

function isUnknownDocument({ code }: AskError): boolean {
  return code === "PERSISTED_QUERY_NOT_FOUND" || code === "PERSISTED_QUERY_NOT_SUPPORTED";
}

async function sha256(text: string): Promise<string | null> {
  if (!globalThis.crypto?.subtle) return null;
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function bodyOf(response: Response): Promise<Body> {
  try {
    return (await response.json()) as Body;
  } catch {
    throw new AskError([], response.status, null, secondsOf(response));
  }
}

function dataOf({ data, errors }: Body, response: Response): unknown {
  if (errors) throw new AskError(errors, response.status, data ?? null, secondsOf(response));
  return data;
}

function secondsOf(response: Response): number | null {
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return Number.isNaN(seconds) ? null : seconds;
}
