"""Domains as bits of a few words: for candidate graphs with few local indices."""
