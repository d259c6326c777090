"""Candidates before the search: filters, and the candidate graph that is searched instead of the data graph."""
