"""Matches counted by the images of some pattern vertices."""
