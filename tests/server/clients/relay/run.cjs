// Pages through a revision's specs with what Relay's compiler made of src/:
// https://relay.dev/docs/guided-tour/list-data/pagination/
// Prints what it found as JSON.

const { Environment, Network, RecordSource, Store, fetchQuery, getSelector } = require("relay-runtime");

const first = require("./generated/SpecsQuery.graphql");
const further = require("./generated/SpecsPaginationQuery.graphql");
const fragment = require("./generated/Specs_revision.graphql");

const [url, ref] = process.argv.slice(2);

async function ask({ text }, variables) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/graphql-response+json, application/json;q=0.9",
    },
    body: JSON.stringify({ query: text, variables }),
  });
  return response.json();
}

async function main() {
  const environment = new Environment({
    network: Network.create(ask),
    store: new Store(new RecordSource()),
  });
  const { revision } = await fetchQuery(environment, first, { ref }).toPromise();
  const selector = getSelector(fragment, revision);
  const specs = () => environment.lookup(selector).data.specs;
  while (specs().pageInfo.hasNextPage) {
    const variables = { id: revision.__id, count: 150, cursor: specs().pageInfo.endCursor };
    await fetchQuery(environment, further, variables).toPromise();
  }
  const { edges, totalCount } = specs();
  const { takenAt } = revision;
  console.log(JSON.stringify({ hashes: edges.map(({ node }) => node.hash), totalCount, takenAt }));
}

main();
