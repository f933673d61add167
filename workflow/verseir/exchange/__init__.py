"""Data sets of a study in the formats that other tools read: BEIR and MTEB. Its runs are TREC files already."""
