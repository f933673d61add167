# What is particular to idiom benchmarks: each text is about an idiom, and uses it in one way or another.

IDIOM_TABLES = []

if study.idiom_sets:
    IDIOM_SEARCHED = [name for name in study.idiom_sets if study.cross["query_sets"][name]]
    IDIOM_CROSS = of_query_sets(study.cross, IDIOM_SEARCHED)
    IDIOM_RUNS = list(runs(IDIOM_CROSS))
    # One query set of each benchmark: all sets of one hold the same queries, but for those with a filter.
    IDIOM_WHOLE = sorted(study.idiom_sets, key=lambda name: ("filter" in study.spec["query_sets"][name], name))
    IDIOM_QUERIES = {study.idiom_home(name): name for name in reversed(IDIOM_WHOLE)}

    def idiom_documents(corpora, part):
        """One file of each corpus."""
        return [f"{RESULTS}/corpora/{corpus}/{part}.parquet" for corpus in sorted(corpora)]

    def idiom_queries(query_sets):
        """The queries, judgements and attributes of query sets."""
        return judged(query_sets) + expand(f"{RESULTS}/queries/{{query_set}}.attributes.parquet", query_set=query_sets)

    IDIOM_INDEXED = {
        "attributes": idiom_documents({run.corpus for run in IDIOM_RUNS}, "attributes"),
        "chunks": sorted({f"{RESULTS}/corpora/{run.corpus}/chunks/{run.mode}.parquet" for run in IDIOM_RUNS}),
    }

    rule compare_subjects:
        """How far results share the subject of the query, whatever they mean."""
        input:
            **IDIOM_INDEXED,
            runs=[str(run.path(f"{RESULTS}/runs")) for run in IDIOM_RUNS],
            queries=idiom_queries(IDIOM_SEARCHED),
            code=code("compare_subjects"),
        output:
            f"{TABLES}/subjects.csv",
        log:
            f"{RESULTS}/logs/compare_subjects.log",
        benchmark:
            f"{RESULTS}/benchmarks/compare_subjects.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            cross=canonical(IDIOM_CROSS),
            measures=study.spec["measures"],
            depth=study.spec["depth"],
            resamples=study.spec["bootstrap"],
            seed=study.spec["seed"],
        message:
            "Comparing the subjects of queries and results"
        shell:
            "python -m verseir compare_subjects --results {params.results:q} --cross {params.cross:q}"
            " --measures {params.measures:q} --depth {params.depth} --resamples {params.resamples}"
            " --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"

    rule count_confusions:
        """What stands in the top R: the meaning asked for, the other use of its idiom, or other idioms."""
        input:
            **IDIOM_INDEXED,
            runs=[str(run.path(f"{RESULTS}/runs")) for run in IDIOM_RUNS],
            queries=idiom_queries(IDIOM_SEARCHED),
            code=code("count_confusions"),
        output:
            f"{TABLES}/confusion.csv",
        log:
            f"{RESULTS}/logs/count_confusions.log",
        benchmark:
            f"{RESULTS}/benchmarks/count_confusions.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            cross=canonical(IDIOM_CROSS),
            resamples=study.spec["bootstrap"],
            seed=study.spec["seed"],
        message:
            "Counting what stands in the top R"
        shell:
            "python -m verseir count_confusions --results {params.results:q} --cross {params.cross:q}"
            " --resamples {params.resamples} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"

    rule match_strings:
        """What finding the words of an idiom scores, with no understanding of its use. No run is needed."""
        input:
            **IDIOM_INDEXED,
            queries=idiom_queries(IDIOM_SEARCHED),
            code=code("match_strings"),
        output:
            f"{TABLES}/string_match.csv",
        log:
            f"{RESULTS}/logs/match_strings.log",
        benchmark:
            f"{RESULTS}/benchmarks/match_strings.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            places=canonical(sorted({(run.corpus, run.query_set, run.mode) for run in IDIOM_RUNS})),
            measures=study.spec["measures"],
            resamples=study.spec["bootstrap"],
            seed=study.spec["seed"],
        message:
            "Reckoning what matching strings scores"
        shell:
            "python -m verseir match_strings --results {params.results:q} --places {params.places:q}"
            " --measures {params.measures:q} --resamples {params.resamples} --seed {params.seed}"
            " --output {output:q} 2>&1 | tee {log:q}"

    rule describe_idioms:
        """Documents and queries by use: how many, how long, and how many people have checked."""
        input:
            attributes=idiom_documents(study.idiom_corpora, "attributes"),
            poems=idiom_documents(study.idiom_corpora, "poems"),
            queries=idiom_queries(IDIOM_QUERIES.values()),
            code=code("describe_idioms"),
        output:
            f"{TABLES}/idiom_data.csv",
        log:
            f"{RESULTS}/logs/describe_idioms.log",
        benchmark:
            f"{RESULTS}/benchmarks/describe_idioms.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            corpora=canonical({corpus: IDIOM_QUERIES.get(corpus) for corpus in study.idiom_corpora}),
        message:
            "Describing documents and queries of idiom benchmarks"
        shell:
            "python -m verseir describe_idioms --results {params.results:q} --corpora {params.corpora:q}"
            " --output {output:q} 2>&1 | tee {log:q}"

    rule measure_idiom_overlap:
        """How many words queries share with what is relevant to them, with and without the idiom itself."""
        input:
            attributes=idiom_documents(IDIOM_QUERIES, "attributes"),
            poems=idiom_documents(IDIOM_QUERIES, "poems"),
            queries=idiom_queries(IDIOM_QUERIES.values()),
            code=code("measure_idiom_overlap"),
        output:
            f"{TABLES}/idiom_overlap.csv",
        log:
            f"{RESULTS}/logs/measure_idiom_overlap.log",
        benchmark:
            f"{RESULTS}/benchmarks/measure_idiom_overlap.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            corpora=canonical(IDIOM_QUERIES),
            resamples=study.spec["bootstrap"],
            seed=study.spec["seed"],
        message:
            "Measuring the words that queries share with relevant documents"
        shell:
            "python -m verseir measure_idiom_overlap --results {params.results:q} --corpora {params.corpora:q}"
            " --resamples {params.resamples} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"

    IDIOM_TABLES = [
        rules.compare_subjects.output[0],
        rules.count_confusions.output[0],
        rules.match_strings.output[0],
        rules.describe_idioms.output[0],
        rules.measure_idiom_overlap.output[0],
    ]
