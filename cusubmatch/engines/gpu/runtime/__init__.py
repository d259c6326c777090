"""The device: targets, launches, copies, and functions that every kernel shares."""
