"""Counts in which a few vertices are matched and all others eliminated on dense tables (w-cutset conditioning)."""
