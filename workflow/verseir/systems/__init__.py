"""Retrieval systems: the registry, encoders and their vectors, indexes and search. Texts in, vectors or scores out."""
