"""The results of commands, as lines of text and as plain values for JSON."""
