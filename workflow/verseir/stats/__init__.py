"""Tests, intervals and corrections. Knows nothing of retrieval: numbers in, numbers out."""
