import { useEffect, useState } from "react";

import type { Client, TypedDocument, Variables } from "./client.js";

export interface Query<TData> {
  /** The data of the last answer; it stays while the next one is on its way. */
  data: TData | undefined;
  /** An AskError, or what `fetch` has thrown. */
  error: unknown;
  isLoading: boolean;
}

/**
 * Ask a document, and again when the client, the document or the content of its variables changes. The answer
 * to an earlier question is ignored.
 */
export function useQuery<TData, TVariables>(
  client: Client,
  document: TypedDocument<TData, TVariables>,
  ...variables: Variables<TVariables>
): Query<TData> {
  const [query, setQuery] = useState<Query<TData>>({ data: undefined, error: undefined, isLoading: true });
  const content = JSON.stringify(variables);
  useEffect(() => {
    let isCurrent = true;
    const answered = (next: Query<TData>) => isCurrent && setQuery(next);
    setQuery(({ data }) => ({ data, error: undefined, isLoading: true }));
    client.ask(document, ...variables).then(
      (data) => answered({ data, error: undefined, isLoading: false }),
      (error: unknown) => answered({ data: undefined, error, isLoading: false }),
    );
    return () => {
      isCurrent = false;
    };
  }, [client, document, content]);
  return query;
}
