"""The walkers: compiled loops that walk a plan, and the arrays they read."""
