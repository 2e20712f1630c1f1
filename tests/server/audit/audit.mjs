// Prints what graphql-http's audits of the server at an address found, as JSON.

import { auditServer } from "graphql-http";

const results = await auditServer({ url: process.argv[2], fetchFn: fetch });
console.log(JSON.stringify(results.map(({ id, name, status, reason }) => ({ id, name, status, reason }))));
