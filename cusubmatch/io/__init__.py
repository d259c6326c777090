"""Tables in files: formats, reading, and files that are complete or absent."""
