"""HTTP below the application: connections and their limits, the server, and its processes."""
