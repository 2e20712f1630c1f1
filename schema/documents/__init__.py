"""Documents before their execution: parsing, validation, limits, and cost estimates."""
