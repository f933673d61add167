"""Query sets: reading, checking, and checking against the corpora that they are run on."""

from verseir.queries.judgements import Judgement
from verseir.queries.load import JUDGED, REGISTERS, QuerySet, cross_check, load_query_set

__all__ = ["JUDGED", "REGISTERS", "Judgement", "QuerySet", "cross_check", "load_query_set"]
