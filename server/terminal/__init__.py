"""What the commands share: their arguments, completion, and what is printed where."""
