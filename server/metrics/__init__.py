"""What a server counts, for Prometheus: instruments, tallies of processes, and /metrics."""
