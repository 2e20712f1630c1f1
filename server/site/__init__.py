"""Static sites: the responses of a server as files, for hosts that run no programs."""
