"""The factors of a count by variable elimination, as both engines have them."""
