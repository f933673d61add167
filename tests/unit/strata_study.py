"""A small results folder for the tests of strata, settings and kept modes: documents of four idioms, two usages."""

import json

import numpy as np
import polars as pl

from verseir.__main__ import main
from verseir.ranking import top_k
from verseir.tables import CHUNKS, QRELS, QUERIES, QUERY_ATTRIBUTES, RUN, write_table

IDIOMS = ["arm", "bag", "cap", "den"]
USAGES = ["literal", "idiomatic", "sense"]
MEASURES = ["Rprec", "nDCG@10", "R@5", "AP"]
SYSTEMS = ["s1", "s2"]


def documents():
    """poem_id -> (idiom, usage)."""
    return {f"{idiom}_{usage}_{i}": (idiom, usage) for idiom in IDIOMS for usage in USAGES for i in range(3)}


def asked(query_set, n=3, idioms=IDIOMS, clustered=True):
    """QUERIES, QRELS and QUERY_ATTRIBUTES: ``n`` queries of each idiom and of each of two usages."""
    queries, qrels, attributes = [], [], []
    for idiom in idioms:
        for usage in ("literal", "idiomatic"):
            for i in range(n):
                query_id = f"q_{idiom}_{usage}_{i}"
                cluster = idiom if clustered else None
                queries.append((query_id, query_set, f"{idiom} {i}", None, None, None, idiom, cluster))
                for poem_id, (of, kind) in documents().items():
                    if of == idiom and (kind == "literal") == (usage == "literal"):
                        qrels.append((query_id, poem_id, 1))
                attributes += [(query_id, "idiom", idiom), (query_id, "usage", usage), (query_id, "language", "en")]
                if i == 0:
                    attributes.append((query_id, "quality", "gold"))
    return (
        pl.DataFrame(queries, schema=dict(QUERIES.columns), orient="row"),
        pl.DataFrame(qrels, schema=dict(QRELS.columns), orient="row"),
        pl.DataFrame(attributes, schema=dict(QUERY_ATTRIBUTES.columns), orient="row"),
    )


def ranked(queries, poems, seed, levels=12, depth=20):
    """A RUN of random scores of few levels, so that there are ties; the right idiom is a little above."""
    rng = np.random.default_rng(seed)
    rows = []
    for query_id, idiom in queries.select("query_id", "span").iter_rows():
        scores = rng.integers(0, levels, len(poems)) + np.array([3 * poem.startswith(str(idiom)) for poem in poems])
        rows += [(query_id, poem, float(score)) for poem, score in zip(poems, scores, strict=True)]
    return top_k(pl.DataFrame(rows, schema=["query_id", "poem_id", "score"], orient="row"), depth)


def cross(query_sets=("span",), modes=("full", "plain"), kept=("plain",)):
    return {
        "query_sets": {name: ["c"] for name in query_sets},
        "modes": {"c": list(modes)},
        "systems": dict.fromkeys(SYSTEMS, "dense"),
        "kept": list(kept),
    }


def kept_poems(mode):
    """Mode ``plain`` leaves the senses out, ``literal`` all but the literal uses."""
    left_out = {"full": (), "plain": ("sense",), "literal": ("sense", "idiomatic")}[mode]
    return [poem for poem, (_, usage) in documents().items() if usage not in left_out]


def write_results(folder, query_sets=("span",), modes=("full", "plain"), seed=0, **made):
    """Queries, judgements, attributes, chunks and runs of a study below ``folder``."""
    for s, query_set in enumerate(query_sets):
        queries, qrels, attributes = asked(query_set, **made)
        write_table(queries, folder / "queries" / f"{query_set}.parquet", QUERIES)
        write_table(qrels, folder / "queries" / f"{query_set}.qrels.parquet", QRELS)
        write_table(attributes, folder / "queries" / f"{query_set}.attributes.parquet", QUERY_ATTRIBUTES)
        for m, mode in enumerate(modes):
            for y, system in enumerate(SYSTEMS):
                run = ranked(queries, kept_poems(mode), 1000 * seed + 100 * s + 10 * m + y)
                write_table(run, folder / "runs" / "c" / mode / query_set / f"{system}.parquet", RUN)
    for mode in modes:
        # Two chunks of a poem: each poem counts once.
        rows = [(f"{poem}#{i}", poem, i, 1, "text") for poem in kept_poems(mode) for i in range(2)]
        chunks = pl.DataFrame(rows, schema=dict(CHUNKS.columns), orient="row")
        write_table(chunks, folder / "corpora" / "c" / "chunks" / f"{mode}.parquet", CHUNKS)


def verb(name, folder, **options):
    """Call a verb of the results in ``folder``; returns its exit status."""
    arguments = [name, "--results", str(folder)]
    for key, value in options.items():
        arguments.append("--" + key.replace("_", "-"))
        values = value if isinstance(value, list | tuple) else [json.dumps(value) if isinstance(value, dict) else value]
        arguments += map(str, values)
    return main(arguments)
