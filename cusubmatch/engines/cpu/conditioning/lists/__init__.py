"""Domains as sorted lists: for candidate graphs of any size."""
