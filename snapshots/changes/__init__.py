"""The differences between two frames: pure functions without I/O."""
