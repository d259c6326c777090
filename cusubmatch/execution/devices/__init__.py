"""One query on several devices: an engine made of theirs, and runs and samplers that they share."""
