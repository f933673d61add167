"""A small idiom benchmark in the files of a study: two idioms, two subjects, four uses; and runs of random order."""

from pathlib import Path

import numpy as np
import polars as pl

from verseir.tables import ATTRIBUTES, CHUNKS, POEMS, QRELS, QUERIES, QUERY_ATTRIBUTES, RUN, write_table

IDIOMS = {"cold feet": "doubt", "spill the beans": "tell"}
SUBJECTS = ("Sport", "Food")
USES = ("literal", "idiomatic", "simplification", "sense")
KEPT = {"full": USES, "lit_idiom": ("literal", "idiomatic")}
SETS = ("sentence", "span")
SYSTEMS = ("one", "two")
DEPTH = 8
CROSS = {
    "query_sets": {name: ["c"] for name in SETS},
    "modes": {"c": sorted(KEPT)},
    "systems": dict.fromkeys(SYSTEMS, "imported"),
    "kept": ["lit_idiom"],
}
PLACES = [["c", name, mode] for name in SETS for mode in KEPT]


def documents():
    """Rows of documents: every idiom has one of each use and subject; sense and simplification say it otherwise."""
    rows = []
    for i, (idiom, meaning) in enumerate(IDIOMS.items()):
        for j, subject in enumerate(SUBJECTS):
            for k, usage in enumerate(USES):
                span = idiom if usage in ("literal", "idiomatic") else meaning
                text = f"The {subject} people of {usage} matters had {span} yesterday."
                rows.append((f"d{i}{j}{k}", text, idiom, span, subject, usage, "gold" if k == 0 else "silver"))
    return rows


def questions():
    rows = []
    for i, idiom in enumerate(IDIOMS):
        for j, subject in enumerate(SUBJECTS):
            for usage in ("idiomatic", "literal"):
                text = f"Some {subject} fans say they had {idiom} too."
                rows.append((f"q{i}{j}_{usage[:3]}", text, idiom, idiom.title(), subject, usage, "silver"))
    return rows


def table(rows, contract):
    """Rows, given as mappings, as a frame of ``contract``; what a row does not name is null."""
    columns = list(contract.columns)
    return pl.DataFrame([[row.get(c) for c in columns] for row in rows], schema=dict(contract.columns), orient="row")


def attributes(rows, key, contract):
    names = ("idiom", "span", "subject", "usage", "quality")
    said = [
        {key: row[0], "attribute": name, "value": value}
        for row in rows
        for name, value in zip(names, row[2:], strict=True)
        if value is not None
    ]
    return table(said, contract)


def relevant(docs, asked):
    return [
        {"query_id": q[0], "poem_id": d[0], "grade": 1}
        for q in asked
        for d in docs
        if q[2] == d[2] and (q[5] == "literal") == (d[5] == "literal")
    ]


def ranked(query_ids, poem_ids, seed, depth=DEPTH):
    """A RUN of random orders; a list for ``q`` does not depend on the other queries."""
    rows = []
    for number, query in enumerate(query_ids):
        order = np.random.default_rng([seed, number]).permutation(len(poem_ids))[:depth]
        rows += [
            {"query_id": query, "poem_id": poem_ids[place], "rank": rank, "score": -float(rank)}
            for rank, place in enumerate(order, 1)
        ]
    return table(rows, RUN)


def write_study(folder, docs=None, asked=None, shuffle=None, **runs):
    """Write a study; returns its folder.

    ``shuffle``: a seed for the order of the rows of every file. ``runs``: name of a system -> a function of queries and
    indexed documents (rows) that returns a RUN; else random orders.
    """
    folder = Path(folder)
    docs, asked = docs or documents(), asked or questions()

    def write(frame, path, contract):
        mixed = frame if shuffle is None else frame.sample(fraction=1, shuffle=True, seed=shuffle)
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_table(mixed, folder / path, contract)

    poems = [{"poem_id": d[0], "language": "en", "verses": [{"first": d[1], "second": None}]} for d in docs]
    write(table(poems, POEMS), "corpora/c/poems.parquet", POEMS)
    write(attributes(docs, "poem_id", ATTRIBUTES), "corpora/c/attributes.parquet", ATTRIBUTES)
    indexed = {mode: [d for d in docs if d[5] in uses] for mode, uses in KEPT.items()}
    for mode, kept in indexed.items():
        chunks = [
            {"chunk_id": f"{d[0]}#0", "poem_id": d[0], "first_verse": 0, "n_verses": 1, "text": d[1]} for d in kept
        ]
        write(table(chunks, CHUNKS), f"corpora/c/chunks/{mode}.parquet", CHUNKS)
    for name in SETS:
        queries = [{"query_id": q[0], "query_set": name, "text": q[1], "span": q[3], "cluster": q[2]} for q in asked]
        write(table(queries, QUERIES), f"queries/{name}.parquet", QUERIES)
        write(table(relevant(docs, asked), QRELS), f"queries/{name}.qrels.parquet", QRELS)
        said = attributes(asked, "query_id", QUERY_ATTRIBUTES)
        write(said, f"queries/{name}.attributes.parquet", QUERY_ATTRIBUTES)
        for mode, kept in indexed.items():
            for seed, system in enumerate(SYSTEMS):
                make = runs.get(system, lambda q, d, seed=seed: ranked([x[0] for x in q], [x[0] for x in d], seed))
                write(make(asked, kept), f"runs/c/{mode}/{name}/{system}.parquet", RUN)
    return folder


def in_order(first):
    """A run for ``write_study`` in which the documents for which ``first(query, document)`` holds stand first."""

    def make(asked, docs):
        rows = []
        for query in asked:
            order = sorted(docs, key=lambda document: not first(query, document))[:DEPTH]
            rows += [
                {"query_id": query[0], "poem_id": document[0], "rank": rank, "score": -float(rank)}
                for rank, document in enumerate(order, 1)
            ]
        return table(rows, RUN)

    return make
