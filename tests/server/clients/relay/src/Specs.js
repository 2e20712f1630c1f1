// What Relay's compiler reads: a query, and a fragment that pages by itself.

const { graphql } = require("relay-runtime");

graphql`
  query SpecsQuery($ref: String!) {
    revision(ref: $ref) {
      takenAt
      totalSize
      ...Specs_revision
    }
  }
`;

graphql`
  fragment Specs_revision on Revision
  @refetchable(queryName: "SpecsPaginationQuery")
  @argumentDefinitions(count: { type: "Int", defaultValue: 150 }, cursor: { type: "String" }) {
    specs(first: $count, after: $cursor) @connection(key: "Specs_specs") {
      totalCount
      edges {
        node {
          hash
          size
        }
      }
    }
  }
`;
