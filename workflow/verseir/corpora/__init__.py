"""Corpora of poems: adapters behind one interface, checks, canonical names, sampling, duplicates."""
