# How much of their poems' wording queries carry, and query sets whose wording is edited.

OVERLAP = f"{RESULTS}/overlap/{{corpus}}"
REFERENCE = study.analyses["reference_encoder"]
MODES = study.spec["modes"]


def overlap_files(kind, query_sets):
    """The overlap of query sets with their poems: one file for each query set and corpus that it is searched in."""
    return [f"{RESULTS}/overlap/{corpus}/{kind}/{name}.parquet" for corpus, name in study.searched_places(query_sets)]


def edit_of(query_set):
    return study.spec["query_sets"][query_set]["edit"]


def edited_from(query_set, pattern):
    """A file of the set that ``query_set`` is made from, in the corpus whose wording counts: the first it is searched in."""
    return pattern.format(query_set=edit_of(query_set)["of"], corpus=study.spec["query_sets"][query_set]["corpora"][0])


def edit_files(query_set):
    """The files that an edit reads: rewrites, names, a prompt."""
    edit = edit_of(query_set)
    named = [edit.get("path"), edit.get("names"), edit.get("prompt")]
    return [path for path in named if isinstance(path, str)]


edited_query_sets = [name for name in study.query_sets if "edit" in study.spec["query_sets"][name]]
model_edited = [name for name in edited_query_sets if edit_of(name)["rule"] == "rewrite-by-model"]


rule measure_overlap:
    """Spans and words that each query of one set shares with its poem: with the verses, and with what each mode indexes."""
    input:
        poems=rules.ingest_corpus.output.poems,
        explanations=lambda w: explanations_of(w.corpus, study.modes_of(w.corpus)),
        chunks=lambda w: indexed_in(w.corpus, study.modes_of(w.corpus)),
        queries=QUERIES,
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        code=code("measure_overlap"),
    output:
        wording=f"{OVERLAP}/wording/{{query_set}}.parquet",
        indexed=f"{OVERLAP}/indexed/{{query_set}}.parquet",
    log:
        f"{RESULTS}/logs/measure_overlap/{{corpus}}/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/measure_overlap/{{corpus}}/{{query_set}}.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        modes=lambda w: canonical({mode: MODES[mode] for mode in study.modes_of(w.corpus)}),
        tokens=study.analyses["tokens"],
    message:
        "Measuring the words that {wildcards.query_set} shares with its poems in {wildcards.corpus}"
    shell:
        "python -m verseir measure_overlap --corpus {wildcards.corpus:q} --poems {input.poems:q}"
        " --explanations {input.explanations:q} --modes {params.modes:q} --chunks {input.chunks:q}"
        " --queries {input.queries:q} --qrels {input.qrels:q} --tokens {params.tokens} --wording {output.wording:q} --indexed {output.indexed:q}"
        " 2>&1 | tee {log:q}"


rule measure_proximity:
    """How near each query of one set is to its poem for the reference encoder, in each mode."""
    input:
        encoding=f"{RESULTS}/encodings/{{corpus}}/{REFERENCE}.json",
        chunks=lambda w: [f"{RESULTS}/corpora/{w.corpus}/chunks/{mode}.parquet" for mode in study.modes_of(w.corpus)],
        queries=QUERIES,
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        code=code("measure_proximity"),
    output:
        f"{OVERLAP}/proximity/{{query_set}}.parquet",
    log:
        f"{RESULTS}/logs/measure_proximity/{{corpus}}/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/measure_proximity/{{corpus}}/{{query_set}}.tsv"
    conda:
        "../../envs/encoders.yaml"
    params:
        system=REFERENCE,
        entry=lambda w: system_entry(REFERENCE),
        modes=lambda w: study.modes_of(w.corpus),
        encoding=lambda w: canonical(study.encoding_of(w.query_set)),
    message:
        "Measuring how near {wildcards.query_set} is to its poems in {wildcards.corpus}"
    shell:
        "python -m verseir measure_proximity --corpus {wildcards.corpus:q} --system {params.system:q}"
        " --entry {params.entry:q} --encoding {input.encoding:q} --modes {params.modes:q} --chunks {input.chunks:q}"
        " --queries {input.queries:q} --qrels {input.qrels:q} --query-encoding {params.encoding:q}"
        " --output {output:q} 2>&1 | tee {log:q}"


rule edit_queries:
    """Derive a query set from another by a rule that changes how much of the poem's wording its queries carry."""
    input:
        poems=lambda w: edited_from(w.query_set, f"{RESULTS}/corpora/{{corpus}}/poems.parquet"),
        queries=lambda w: edited_from(w.query_set, QUERIES),
        qrels=lambda w: edited_from(w.query_set, f"{RESULTS}/queries/{{query_set}}.qrels.parquet"),
        wording=lambda w: edited_from(w.query_set, f"{OVERLAP}/wording/{{query_set}}.parquet"),
        files=lambda w: edit_files(w.query_set),
        code=code("edit_queries"),
    output:
        queries=QUERIES,
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        rejects=f"{RESULTS}/queries/{{query_set}}.rejects.csv",
    log:
        f"{RESULTS}/logs/edit_queries/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/edit_queries/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(set(edited_query_sets) - set(model_edited)),
    conda:
        "../../envs/core.yaml"
    params:
        rule=lambda w: canonical(edit_of(w.query_set)),
        tokens=study.analyses["tokens"],
        quoting=study.analyses["quoting"],
    message:
        "Editing queries into the query set {wildcards.query_set}"
    shell:
        "python -m verseir edit_queries --name {wildcards.query_set:q} --rule {params.rule:q} --preset {params.tokens}"
        " --quoting {params.quoting} --poems {input.poems:q} --queries {input.queries:q} --qrels {input.qrels:q}"
        " --wording {input.wording:q} --output-queries {output.queries:q} --output-qrels {output.qrels:q}"
        " --output-rejects {output.rejects:q} 2>&1 | tee {log:q}"


rule rewrite_queries:
    """Have a language model put the quoted words of queries in other words; what fails validation is rejected and counted."""
    input:
        poems=lambda w: edited_from(w.query_set, f"{RESULTS}/corpora/{{corpus}}/poems.parquet"),
        queries=lambda w: edited_from(w.query_set, QUERIES),
        qrels=lambda w: edited_from(w.query_set, f"{RESULTS}/queries/{{query_set}}.qrels.parquet"),
        wording=lambda w: edited_from(w.query_set, f"{OVERLAP}/wording/{{query_set}}.parquet"),
        files=lambda w: edit_files(w.query_set),
        code=code("rewrite_queries"),
    output:
        queries=QUERIES,
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        rejects=f"{RESULTS}/queries/{{query_set}}.rejects.csv",
    log:
        f"{RESULTS}/logs/rewrite_queries/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/rewrite_queries/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(model_edited),
    conda:
        "../../envs/encoders.yaml"
    params:
        rule=lambda w: canonical(edit_of(w.query_set)),
        tokens=study.analyses["tokens"],
        quoting=study.analyses["quoting"],
    message:
        "Having a language model rewrite queries into the query set {wildcards.query_set}"
    shell:
        "python -m verseir rewrite_queries --name {wildcards.query_set:q} --rule {params.rule:q} --preset {params.tokens}"
        " --quoting {params.quoting} --poems {input.poems:q} --queries {input.queries:q} --qrels {input.qrels:q}"
        " --wording {input.wording:q} --output-queries {output.queries:q} --output-qrels {output.qrels:q}"
        " --output-rejects {output.rejects:q} 2>&1 | tee {log:q}"
