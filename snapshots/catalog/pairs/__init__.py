"""What changed between neighbours, made and kept."""
