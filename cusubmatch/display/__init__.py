"""What is shown while work goes on, and in a notebook."""
