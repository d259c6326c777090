"""A job: questions cut into tasks, handed to the workers of a cluster, and answered although workers are lost."""
