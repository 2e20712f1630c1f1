"""HTTP below the application: connections and their limits, servers, and worker processes."""
