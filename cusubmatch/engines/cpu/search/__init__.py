"""Walking a plan on CPU threads."""
