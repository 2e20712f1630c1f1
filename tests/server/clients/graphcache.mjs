// Pages through a revision's specs with urql's normalized cache, beside a comparison:
// https://nearform.com/open-source/urql/docs/graphcache/. Objects without an id are kept in their
// parents. Prints what it found, and the warnings of the cache, as JSON.

import { Client, fetchExchange, gql } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";

const TYPES = "{ __schema { types { name kind fields { name } } } }";
const QUERY = gql`
  query Specs($ref: String!, $after: String) {
    revision(ref: $ref) {
      id
      source { kind }
      specs(first: 100, after: $after) {
        totalCount
        edges { cursor node { id hash package { id versions } } }
        pageInfo { hasNextPage endCursor }
      }
    }
    compare(base: $ref, head: "develop") {
      id
      summary { numSpecsAdded }
      packages(first: 5) { nodes { id name mainCause { id title facts { path } } } }
      coverage(by: [TARGET], first: 5) { nodes { packageName values } }
      causes(first: 2) { nodes { id commits(first: 2) { nodes { id commit { id oid } } } } }
    }
  }
`;

const [url, ref] = process.argv.slice(2);
const warnings = [];
console.warn = (...parts) => warnings.push(parts.join(" "));

const response = await fetch(url, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ query: TYPES }),
});
const { types } = (await response.json()).data.__schema;
const withoutIds = types.filter(
  ({ kind, fields }) => kind === "OBJECT" && !fields.some(({ name }) => name === "id"),
);
const client = new Client({
  url,
  preferGetMethod: false,
  exchanges: [
    cacheExchange({
      keys: Object.fromEntries(withoutIds.map(({ name }) => [name, () => null])),
      resolvers: { Revision: { specs: relayPagination() } },
    }),
    fetchExchange,
  ],
});

let after = null;
let specs;
do {
  const { data, error } = await client.query(QUERY, { ref, after }).toPromise();
  if (error) throw new Error(error.message);
  specs = data.revision.specs;
  after = specs.pageInfo.endCursor;
} while (specs.pageInfo.hasNextPage);
const hashes = specs.edges.map(({ node }) => node.hash);
console.log(JSON.stringify({ hashes, totalCount: specs.totalCount, warnings }));
