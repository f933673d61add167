"""verseir: measure what the search results of a poetry archive depend on."""

__version__ = "0.1.0"
