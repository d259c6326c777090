"""Walking a plan on warps."""
