"""The parts of fields: scalars, enums, connections, costs, and answers for many objects at once."""
