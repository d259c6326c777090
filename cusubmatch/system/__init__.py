"""What the machine offers: a GPU, host memory, threads and the clock."""
