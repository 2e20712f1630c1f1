// Prints the ref that the built program gets: node run.mjs URL REF.

import { print } from "graphql";

import { newest } from "./dist/main.js";

const [url, ref] = process.argv.slice(2);
console.log(await newest(url, ref, { print }));
