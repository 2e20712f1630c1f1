"""How a request is answered: executed in a budget, lists rendered as JSON instead of resolved."""
