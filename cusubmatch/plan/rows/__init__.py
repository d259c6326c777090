"""Plans that walk rows of the edge table."""
