"""The engines: what they offer (`base`), which one runs (`registry`), and how their code is compiled."""
