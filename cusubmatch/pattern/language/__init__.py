"""The texts of patterns and conditions: read by one grammar, and written so that they are read as the same."""
