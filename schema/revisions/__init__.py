"""What a revision holds: its stacks, packages, specs and dependencies, and how to ask for them."""
