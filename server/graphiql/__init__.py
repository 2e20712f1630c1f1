"""GraphiQL, with the templates of its page and of the queries that it shows."""
