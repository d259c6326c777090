"""Walking rows of the edge table on the device."""
