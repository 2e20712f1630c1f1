// mercurius with graphql-jit, over the specs of a JSON file and as much of the schema as is asked.
// Usage: node mercurius.js SPECS.json PORT
const fs = require("node:fs");
const fastify = require("fastify");
const mercurius = require("mercurius");

const [file, port] = process.argv.slice(2);
const specs = JSON.parse(fs.readFileSync(file, "utf8"));
const byName = new Map();
for (const spec of specs) {
  if (!byName.has(spec.name)) byName.set(spec.name, { name: spec.name, specs: [] });
  byName.get(spec.name).specs.push(spec);
}
const packages = [...byName.values()];

const schema = `
  type Query { revision(ref: String!): Revision }
  type Revision {
    numSpecs: Int!
    specs(first: Int!): SpecConnection!
    packages(first: Int!): PackageConnection!
  }
  type SpecConnection { nodes: [Spec!]! }
  type PackageConnection { nodes: [Package!]! }
  type Package { name: String! specs(first: Int!): SpecConnection! }
  type Spec {
    hash: String! name: String! version: String! compiler: String
    operatingSystem: String! target: String! variants: [String!]! stacks: [String!]!
  }
`;
const firstOf = (list) => (_, { first }) => ({ nodes: list.slice(0, first) });
const resolvers = {
  Query: { revision: () => ({ numSpecs: specs.length }) },
  Revision: { specs: firstOf(specs), packages: firstOf(packages) },
  Package: { specs: (of, { first }) => ({ nodes: of.specs.slice(0, first) }) },
};

const app = fastify();
app.register(mercurius, { schema, resolvers, jit: 1 });
app.listen({ port: Number(port), host: "127.0.0.1" });
