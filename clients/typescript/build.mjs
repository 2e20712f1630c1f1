// Writes src/documents.ts: each document of documents/ as a constant, with the types of its variables
// and of its answer, from the schema in the file that is named.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";

import { codegen } from "@graphql-codegen/core";
import * as operations from "@graphql-codegen/typescript-operations";
import { Kind, parse } from "graphql";

const schema = parse(readFileSync(process.argv[2], "utf8"));
const files = readdirSync("documents").sort();
const documents = files.map((file) => {
  const text = readFileSync(`documents/${file}`, "utf8");
  return { location: file, document: parse(text), text };
});
const types = await codegen({
  filename: "src/documents.ts",
  schema,
  documents,
  plugins: [{ operations: {} }],
  pluginMap: { operations },
  config: {
    defaultScalarType: "unknown",
    scalars: { ByteCount: "number", DateTime: "string" },
    skipTypename: true,
    useTypeImports: true,
  },
});
const constants = documents.map(({ document, text }) => {
  const { name } = document.definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  const type = `TypedDocument<${name.value}Query, ${name.value}QueryVariables>`;
  return `export const ${name.value}: ${type} = ${JSON.stringify({ name: name.value, text })};\n`;
});
const head = '// Written by build.mjs.\n\nimport type { TypedDocument } from "./client.js";\n\n';
writeFileSync("src/documents.ts", `${head}${types}\n\n${constants.join("\n")}`);
