// Writes with GraphQL Code Generator, from the schema that a server offers as a file, schema.ts
// with all its types, and specs.ts with those of one operation:
// https://the-guild.dev/graphql/codegen

import { readFileSync, writeFileSync } from "node:fs";

import { codegen } from "@graphql-codegen/core";
import * as operations from "@graphql-codegen/typescript-operations";
import * as types from "@graphql-codegen/typescript";
import { parse } from "graphql";

const schema = parse(await (await fetch(new URL("/schema.graphql", process.argv[2]))).text());
const config = {
  scalars: { ByteCount: "number", DateTime: "string" },
  defaultScalarType: "unknown",
};

async function write(filename, documents, pluginMap) {
  const plugins = Object.keys(pluginMap).map((name) => ({ [name]: {} }));
  writeFileSync(filename, await codegen({ filename, schema, documents, plugins, pluginMap, config }));
}

const document = parse(readFileSync("specs.graphql", "utf8"));
await write("schema.ts", [], { types });
await write("specs.ts", [{ location: "specs.graphql", document }], { operations });
