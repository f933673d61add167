# What a study will take, before it runs: `snakemake plan_costs`.


def explained(corpus, modes):
    """Whether there is all that a language model writes of a corpus for these modes: a plan asks none."""
    return all(Path(path).exists() for path in explanations_of(corpus, modes)[1:])


def worded_now(query_set):
    """Whether the queries of a set need no language model: those that are edited hang on what their corpus indexes."""
    if query_set not in edited_query_sets or Path(f"{RESULTS}/queries/{query_set}.parquet").exists():
        return True
    corpus = study.spec["query_sets"][query_set]["corpora"][0]
    return query_set not in model_edited and explained(corpus, study.modes_of(corpus))


def planned_files():
    """The chunks and queries of the study that need no language model."""
    places = [
        (corpus, mode) for corpus in study.corpora for mode in study.modes_of(corpus) if explained(corpus, [mode])
    ]
    names = sorted(filter(worded_now, set(map(worded, study.query_sets))))
    chunks = [f"{RESULTS}/corpora/{corpus}/chunks/{mode}.parquet" for corpus, mode in places]
    return chunks + [f"{RESULTS}/queries/{name}.parquet" for name in names]


def worded(query_set):
    """The set that has the queries of a set: of a graded one, its parent."""
    return study.spec["query_sets"][query_set].get("graded", {}).get("of", query_set)


def planned_encodes():
    """What each encoder reads of each corpus, in the order in which the store is looked at. Of encoders that the study
    trains nothing is known yet."""
    crosses = [WITH_ARMS, study.ablation_cross, *([study.cross_of([REFERENCE])] if REFERENCE else [])]
    places = {(path.parent.name, path.stem) for cross in crosses for path in encoding_files(cross, "")}
    return [
        {
            "system": system,
            "corpus": corpus,
            "modes": study.modes_read(corpus, system),
            "query_sets": [[name, study.encoding_of(name)] for name in study.query_sets_read(corpus, system)],
            "shards": SHARDS[system],
            "gpu": can_use_gpu(study.registry[system]),
        }
        for system in study.encoders
        if system not in study.trained
        for corpus in study.corpora
        if (corpus, system) in places
    ]


def planned_calls():
    """What language models are asked: items of pools, verses to explain, queries to rewrite."""
    judges = {(judge, corpus) for corpus, _, judge in judge_places(study)}
    asked = [
        {
            "step": "judge",
            "who": judge,
            "corpus": corpus,
            "pools": [
                [name, (POOLING or study.judging)["depth"], len(list(runs(pooled_cross(study, corpus, name))))]
                for place, name, other in judge_places(study)
                if (place, other) == (corpus, judge)
            ],
        }
        for judge, corpus in sorted(judges)
        if "path" not in study.judging["judges"][judge]
    ]
    asked += [
        {"step": "write", "who": source, "corpus": corpus}
        for corpus, sources in sorted(study.written.items())
        for source in sources
    ]
    asked += [
        {"step": "rewrite", "who": name, "corpus": corpus, "query_set": edit_of(name)["of"]}
        for name in model_edited
        for corpus in study.spec["query_sets"][name]["corpora"][:1]
    ]
    return asked


def untrained(cross):
    """A cross without the systems that the study trains."""
    there = {name: kind for name, kind in cross["systems"].items() if kind != "folds" and name not in study.trained}
    return cross | {"systems": there}


PLANNED_CROSSES = [untrained(cross) for cross in (study.cross, WITH_ARMS, study.ablation_cross)]


# It has neither an output nor a benchmark, and so is made whenever it is asked for: what is stored changes meanwhile.
# On a cluster it runs where Snakemake does, so that its table is seen.
rule plan_costs:
    """What the study will take, by system: texts, tokens, hours, disk. No model is loaded and no language model asked."""
    input:
        files=lambda w: planned_files(),
        poems=expand(f"{RESULTS}/corpora/{{corpus}}/poems.parquet", corpus=study.corpora),
        code=code("plan_costs"),
    log:
        f"{RESULTS}/logs/plan_costs.log",
    localrule: True
    conda:
        "../../envs/encoders.yaml"
    params:
        # Functions, since their values may hold braces, which are no wildcards.
        crosses=lambda w: [canonical(cross) for cross in PLANNED_CROSSES],
        entries=lambda w: canonical({name: study.registry[name] for name in {*study.searched, *study.encoders}}),
        encodes=lambda w: canonical(planned_encodes()),
        asked=lambda w: canonical(planned_calls()),
        like=lambda w: canonical({name: own for own, named in study.variants.items() for name in named.values()}),
        worded=lambda w: canonical({name: worded(name) for name in study.query_sets}),
        results=RESULTS,
        cores=lambda w: min(8, workflow.cores or 8),  # as many as an encode gets
        depth=study.spec["depth"],
    message:
        "Planning the study {study.name}"
    shell:
        "python -m verseir plan_costs --threads {params.cores} --results {params.results:q} --crosses {params.crosses:q}"
        " --entries {params.entries:q} --encodes {params.encodes:q} --asked {params.asked:q} --like {params.like:q}"
        " --worded {params.worded:q} --depth {params.depth} --output {params.results:q}/plan.csv 2>&1 | tee {log:q}"
