"""GraphiQL, with the templates of its page and of its example queries."""
