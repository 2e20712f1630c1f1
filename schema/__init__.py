"""The GraphQL API of cachelog on top of the domain, independent of HTTP."""
