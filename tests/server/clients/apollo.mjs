// Asks by hash alone with Apollo's persisted queries, and pages with its cache:
// https://www.apollographql.com/docs/react/api/link/persisted-queries
// Prints what it found, and what was sent and answered on the way, as JSON.

import { createHash } from "node:crypto";

import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { relayStylePagination } from "@apollo/client/utilities";

const QUERY = gql`
  query Specs($ref: String!, $after: String) {
    revision(ref: $ref) {
      id
      specs(first: 150, after: $after) {
        totalCount
        edges { cursor node { id hash } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`;

const [url, ref, useGETForHashedQueries] = process.argv.slice(2);
const exchanges = [];

async function recording(address, options) {
  const response = await fetch(address, options);
  const { errors } = await response.clone().json();
  const sent = options.body ? JSON.parse(options.body) : Object.fromEntries(new URL(address).searchParams);
  exchanges.push({
    method: options.method,
    query: "query" in sent,
    status: response.status,
    errors: (errors ?? []).map(({ message }) => message),
  });
  return response;
}

const client = new ApolloClient({
  cache: new InMemoryCache({
    typePolicies: { Revision: { fields: { specs: relayStylePagination() } } },
  }),
  link: ApolloLink.from([
    new PersistedQueryLink({
      sha256: (text) => createHash("sha256").update(text).digest("hex"),
      useGETForHashedQueries: JSON.parse(useGETForHashedQueries),
    }),
    new HttpLink({ uri: url, fetch: recording }),
  ]),
});

const watched = client.watchQuery({ query: QUERY, variables: { ref } });
let { data } = await watched.refetch();
while (data.revision.specs.pageInfo.hasNextPage) {
  await watched.fetchMore({ variables: { after: data.revision.specs.pageInfo.endCursor } });
  data = client.readQuery({ query: QUERY, variables: { ref } });
}
const { edges, totalCount } = data.revision.specs;
console.log(JSON.stringify({ hashes: edges.map(({ node }) => node.hash), totalCount, exchanges }));
