// Writes src/documents.ts: each document of a folder as a constant, with the types of its variables and
// of its data; and the possible types of the schema. Its arguments are the file of the schema, and the folder.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";

import { codegen } from "@graphql-codegen/core";
import * as operations from "@graphql-codegen/typescript-operations";
import { Kind, buildASTSchema, isAbstractType, parse } from "graphql";

const [schemaFile, folder] = process.argv.slice(2);
const schema = parse(readFileSync(schemaFile, "utf8"));
const files = readdirSync(folder).sort();
const documents = files.map((file) => {
  const text = readFileSync(`${folder}/${file}`, "utf8");
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
  const type = `TypedDocumentString<${name.value}Query, ${name.value}QueryVariables>`;
  return `export const ${name.value}: ${type} = new TypedDocumentString(${JSON.stringify(text)});\n`;
});
const built = buildASTSchema(schema);
const abstract = Object.values(built.getTypeMap()).filter(isAbstractType);
const possible = Object.fromEntries(
  abstract.map((type) => [type.name, built.getPossibleTypes(type).map(({ name }) => name).sort()]),
);
const head = `// Written by build.mjs.

import { TypedDocumentString } from "./client.js";

/** The types of each union and interface, for Apollo's InMemoryCache. */
export const possibleTypes: Record<string, string[]> = ${JSON.stringify(possible, null, 2)};
`;
writeFileSync("src/documents.ts", `${head}\n${types}\n\n${constants.join("\n")}`);
