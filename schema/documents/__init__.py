"""What a request asks for, before anything is executed: read, checked, bounded, its cost told."""
