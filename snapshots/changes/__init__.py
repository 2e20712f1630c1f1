"""What differs between two frames: pure, without I/O."""
