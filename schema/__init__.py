"""The GraphQL API over the domain: one module a noun; knows nothing of HTTP."""
