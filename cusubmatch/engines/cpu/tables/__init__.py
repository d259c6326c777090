"""Tables of a decomposition on CPU threads."""
