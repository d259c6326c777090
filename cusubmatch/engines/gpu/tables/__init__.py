"""Tables of a decomposition on a GPU."""
