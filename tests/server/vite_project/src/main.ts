// A document of one's own, with a fragment, sent by the client of clients/typescript.

import { Client, type ClientOptions, possibleTypes } from "@cachelog/client";

import { graphql } from "./gql/index.js";

graphql(/* GraphQL */ `
  fragment Size on Revision {
    numSpecs
    takenAt
  }
`);

const Newest = graphql(/* GraphQL */ `
  query Newest($ref: String!) {
    revision(ref: $ref) {
      ref
      ...Size
    }
  }
`);

export async function newest(url: string, ref: string, options: ClientOptions): Promise<string | undefined> {
  const client = new Client(url, options);
  // @ts-expect-error The document needs a ref.
  client.query(Newest, { tag: ref }).catch(() => {});
  const { revision } = await client.query(Newest, { ref });
  return possibleTypes["Node"]?.includes("Revision") ? revision?.ref : undefined;
}
