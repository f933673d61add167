"""The report: one page of sentences, tables and figures made from the tables of a study."""
