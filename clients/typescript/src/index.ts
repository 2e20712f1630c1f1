export * from "./client.js";
export * from "./documents.js";
