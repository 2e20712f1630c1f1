// Pages through a revision's specs with urql, as https://nearform.com/open-source/urql/docs/ has it,
// and prints what it found as JSON.

import { Client, cacheExchange, fetchExchange, gql } from "@urql/core";

const QUERY = gql`
  query Specs($ref: String!, $after: String) {
    revision(ref: $ref) {
      id
      specs(first: 100, after: $after) {
        totalCount
        nodes { id hash }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`;

const [url, ref, preferGetMethod] = process.argv.slice(2);
const methods = [];
const client = new Client({
  url,
  exchanges: [cacheExchange, fetchExchange],
  preferGetMethod: JSON.parse(preferGetMethod),
  fetch: (address, options) => {
    methods.push(options.method);
    return fetch(address, options);
  },
});

const hashes = [];
let page = { hasNextPage: true, endCursor: null };
let totalCount;
while (page.hasNextPage) {
  const { data, error } = await client.query(QUERY, { ref, after: page.endCursor }).toPromise();
  if (error) throw error;
  hashes.push(...data.revision.specs.nodes.map(({ hash }) => hash));
  totalCount = data.revision.specs.totalCount;
  page = data.revision.specs.pageInfo;
}
const unknown = await client.query("{ revision(ref: \"nope\") { id } }", {}).toPromise();
const code = unknown.error.graphQLErrors[0].extensions.code;
console.log(JSON.stringify({ hashes, totalCount, methods, code }));
