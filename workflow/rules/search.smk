# Ranked lists, one file for each corpus, mode, query set and system.

RUN = f"{RESULTS}/runs/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.parquet"
QUERIES = f"{RESULTS}/queries/{{query_set}}.parquet"


def arm_runs(wildcards):
    """The runs that a fusion fuses: an arm is searched in the fusion's own mode unless it names one."""
    place = f"{RESULTS}/runs/{wildcards.corpus}"
    arms = study.arms(wildcards.system)
    return [f"{place}/{arm.get('mode', wildcards.mode)}/{wildcards.query_set}/{arm['system']}.parquet" for arm in arms]


rule search_bm25:
    """Rank poems by the best BM25 score of their chunks."""
    input:
        index=lambda w: expand(
            rules.index_bm25.output.index,
            corpus=w.corpus,
            mode=w.mode,
            system=w.system,
            tuned_on=study.tuned_on(w.system, w.query_set),
            scope=scope_of(study.within(w.query_set)),
        ),
        queries=QUERIES,
        within=lambda w: list(files_within(study.within(w.query_set), query_set=w.query_set).values()),
        code=code("search_bm25"),
    output:
        run=RUN,
        cost=f"{RESULTS}/costs/search_bm25/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.json",
    log:
        f"{RESULTS}/logs/search_bm25/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/search_bm25/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.searched_kind("bm25")),
    conda:
        "../../envs/core.yaml"
    threads: 2
    params:
        entry=lambda w: system_entry(w.system),
        folder=lambda w, input: str(Path(input.index[0]).parent),
        reads=lambda w: reads(w.query_set),
        within=lambda w: options_within(study.within(w.query_set), query_set=w.query_set),
        depth=study.spec["depth"],
    message:
        "Searching {wildcards.corpus}, mode {wildcards.mode}, query set {wildcards.query_set}, with {wildcards.system}"
    shell:
        "python -m verseir search_bm25 --threads {threads} --corpus {wildcards.corpus:q} --system {wildcards.system:q}"
        " --entry {params.entry:q} --index {params.folder:q} --queries {input.queries:q} --reads {params.reads}"
        " {params.within:q} --depth {params.depth} --output {output.run:q} --cost {output.cost:q} 2>&1 | tee {log:q}"


rule search_dense:
    """Rank poems by the best inner product of their chunks' vectors with the query's, exactly."""
    input:
        encoding=rules.encode_texts.output.encoding,
        chunks=rules.make_chunks.output,
        queries=QUERIES,
        within=lambda w: list(files_within(study.within(w.query_set), w.corpus, w.query_set).values()),
        code=code("search_dense"),
    output:
        run=RUN,
        cost=f"{RESULTS}/costs/search_dense/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.json",
    log:
        f"{RESULTS}/logs/search_dense/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/search_dense/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of(set(study.searched_kind("dense")) - set(study.trained)),
    conda:
        "../../envs/encoders.yaml"
    threads: 2
    params:
        entry=lambda w: system_entry(w.system),
        encoding=lambda w: canonical(study.encoding_of(w.query_set)),
        within=lambda w: options_within(study.within(w.query_set), w.corpus, w.query_set),
        depth=study.spec["depth"],
    message:
        "Searching {wildcards.corpus}, mode {wildcards.mode}, query set {wildcards.query_set}, with {wildcards.system}"
    shell:
        "python -m verseir search_dense --threads {threads} --corpus {wildcards.corpus:q} --system {wildcards.system:q}"
        " --entry {params.entry:q} --encoding {input.encoding:q} --chunks {input.chunks:q} --queries {input.queries:q}"
        " --query-encoding {params.encoding:q} {params.within:q} --depth {params.depth} --output {output.run:q}"
        " --cost {output.cost:q} 2>&1 | tee {log:q}"


rule fuse_runs:
    """Fuse the runs of several systems by reciprocal rank."""
    input:
        runs=arm_runs,
        code=code("fuse_runs"),
    output:
        run=RUN,
        cost=f"{RESULTS}/costs/fuse_runs/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.json",
    log:
        f"{RESULTS}/logs/fuse_runs/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/fuse_runs/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.systems("fusion")),
    conda:
        "../../envs/core.yaml"
    params:
        k=lambda w: study.registry[w.system]["k"],
        depth=study.spec["depth"],
    message:
        "Fusing {wildcards.corpus}, mode {wildcards.mode}, query set {wildcards.query_set}, into {wildcards.system}"
    shell:
        "python -m verseir fuse_runs --corpus {wildcards.corpus:q} --system {wildcards.system:q} --k {params.k}"
        " --depth {params.depth} --runs {input.runs:q} --output {output.run:q} --cost {output.cost:q} 2>&1 | tee {log:q}"


rule import_run:
    """Take a ranked list that another program made, in TREC format or Parquet."""
    input:
        run=lambda w: study.registry[w.system]["path"].format(**w),
        queries=QUERIES,
        poems=f"{RESULTS}/corpora/{{corpus}}/poems.parquet",
        chunks=lambda w: indexed_in(w.corpus, [w.mode]),
        code=code("import_run"),
    output:
        run=RUN,
    log:
        f"{RESULTS}/logs/import_run/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/import_run/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.systems("imported")),
    conda:
        "../../envs/core.yaml"
    params:
        depth=study.spec["depth"],
    message:
        "Importing the run of {wildcards.system} on {wildcards.corpus}, mode {wildcards.mode}, {wildcards.query_set}"
    shell:
        "python -m verseir import_run --run {input.run:q} --queries {input.queries:q} --poems {input.poems:q}"
        " --chunks {input.chunks:q} --depth {params.depth} --output {output.run:q} 2>&1 | tee {log:q}"
