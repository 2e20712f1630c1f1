"""Documents before their execution: parsed, validated, limited, and their cost estimated."""
