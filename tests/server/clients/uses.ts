// Compiles only where the generated types say what the API returns.

import type { Query, Revision } from "./schema";
import type { SpecsQuery, SpecsQueryVariables } from "./specs";

export const newest = (answer: Pick<Query, "revision">): Revision | null | undefined =>
  answer.revision;

export const variables: SpecsQueryVariables = { ref: "develop", filter: { packages: ["hdf5"] } };

export function sizes(answer: SpecsQuery): number[] {
  const nodes: { hash: string; size: number | null; variants: string[] }[] =
    answer.revision?.specs?.nodes ?? [];
  return nodes.flatMap(({ size }) => (size === null ? [] : [size]));
}

// @ts-expect-error A revision may be null.
export const takenAt = (answer: SpecsQuery): string => answer.revision.takenAt;

// @ts-expect-error There is no such filter.
export const wrong: SpecsQueryVariables = { ref: "develop", filter: { colour: "red" } };
