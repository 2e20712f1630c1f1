import { useCallback, useEffect, useMemo, useState } from "react";

import { QueryError, type Arguments, type Client, type QueryOptions, type TypedDocument } from "./client.js";

export interface Query<TData> {
  /** The data of the current question, without the fields that failed; undefined before its first response. */
  data: TData | undefined;
  /** A QueryError, or what `fetch` has thrown. */
  error: unknown;
  isLoading: boolean;
  /** Query once more; the data stay until the response arrives. */
  refetch: () => void;
}

export interface UseQueryOptions {
  /** Query nothing yet. */
  skip?: boolean;
}

/**
 * Query a document, and again when the client, the document or the content of its variables changes: the request
 * under way is aborted, and its data are not shown any more.
 */
export function useQuery<TData, TVariables>(
  client: Client,
  document: TypedDocument<TData, TVariables>,
  ...[variables, { skip = false } = {}]: Arguments<TVariables, UseQueryOptions>
): Query<TData> {
  const content = JSON.stringify(variables);
  const question = useMemo(() => ({}), [client, document, content]);
  const [turn, setTurn] = useState(0);
  const [answer, setAnswer] = useState<{ question?: object; turn?: number; data?: TData; error?: unknown }>({});
  useEffect(() => {
    if (skip) return;
    const controller = new AbortController();
    const settle = (data: TData | undefined, error?: unknown) => {
      if (!controller.signal.aborted) setAnswer({ question, turn, data, error });
    };
    const options = [variables, { signal: controller.signal }] as unknown as Arguments<TVariables, QueryOptions>;
    client.query(document, ...options).then(settle, (error: unknown) =>
      settle(error instanceof QueryError ? ((error.data ?? undefined) as TData) : undefined, error),
    );
    return () => controller.abort();
  }, [question, turn, skip]);
  const refetch = useCallback(() => setTurn((previous) => previous + 1), []);
  const isCurrent = answer.question === question;
  return {
    data: isCurrent ? answer.data : undefined,
    error: isCurrent ? answer.error : undefined,
    isLoading: !skip && !(isCurrent && answer.turn === turn),
    refetch,
  };
}
