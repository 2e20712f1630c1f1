"""The GraphQL API of cachelog, over the domain: one module a noun; knows nothing of HTTP."""
