"""The suffix of a counting plan: pattern vertices that are counted without being visited."""
