"""What runs on a worker: tasks, what they are asked and answer, and the graphs that the worker keeps."""
