"""What fields are made of: scalars, enums, pages, connections, costs, answers for many objects."""
