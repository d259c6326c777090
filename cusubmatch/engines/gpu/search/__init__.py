"""Runs of the walker: filters, the plan on the device, launches, their progress, samples."""
