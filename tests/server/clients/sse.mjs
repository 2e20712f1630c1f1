// Follows what is published with graphql-sse, as https://the-guild.dev/graphql/sse has it, and prints
// each result as a line of JSON. Where the server ends the connection the client comes back by
// itself; it says then, in a header, which event it has seen last.

import { createClient } from "graphql-sse";

const QUERY = `
  subscription Published($tag: String, $series: String) {
    revisionPublished(tag: $tag, series: $series) { id tag numSpecs }
  }
`;

const [url, variables, count] = process.argv.slice(2);
let last = "";
const client = createClient({
  url,
  headers: () => (last ? { "last-event-id": last } : {}),
  retry: () => new Promise((resolve) => setTimeout(resolve, 100)),
  retryAttempts: 100,
});

const tell = (line) => console.log(JSON.stringify(line));
const subscription = client.iterate(
  { query: QUERY, variables: JSON.parse(variables) },
  { connected: (isRetry) => tell({ connected: true, isRetry }) },
);
let left = Number(count);
for await (const { data, errors } of subscription) {
  tell(errors ? { errors } : data.revisionPublished);
  last = data?.revisionPublished.id ?? last;
  if (!--left) break;
}
for await (const result of client.iterate({ query: "{ nope }" })) tell(result);
for await (const result of client.iterate({ query: "{ __typename }" })) tell(result);
client.dispose();
