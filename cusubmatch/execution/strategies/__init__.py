"""Ways of counting: by walking, by decomposition, from the counts of supergraphs."""
