"""Changes told to people and programs."""
