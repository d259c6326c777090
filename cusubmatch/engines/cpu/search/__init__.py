"""Runs of the walkers: threads and their tasks, limits and progress, samples."""
