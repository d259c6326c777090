"""The rows of a planned call, collected: kept where they are made, or copied to host memory beside the search."""
