"""Files and folders that all workers of a cluster see."""
