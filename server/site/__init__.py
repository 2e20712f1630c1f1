"""A site of files: what a server of the catalog says, written for hosts that run no program."""
