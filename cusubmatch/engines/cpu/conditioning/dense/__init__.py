"""Components that are counted by variable elimination, on tables with a place for each combination of candidates."""
