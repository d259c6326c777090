"""What makes rows a result: images of orbits, the choice among them, their order, and the names and ids of columns."""
