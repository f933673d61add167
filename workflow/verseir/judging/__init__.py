"""Judgements by language models and by people."""
