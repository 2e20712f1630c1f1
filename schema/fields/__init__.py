"""The parts of fields: scalars, enums, connections, costs, and resolvers for many objects."""
