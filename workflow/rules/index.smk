# Indexes and vectors.


VALIDATED = {validated(*place): place for name in study.query_sets if (place := study.validation(name))}


# What every tuned system of the study chose, and on which queries.
TUNED = sorted(
    {
        f"{RESULTS}/tuning/{place[0]}/{run.mode}/{place[1]}/{run.system}.json"
        for run in runs(study.cross)
        if (place := study.cross.get("tuned", {}).get(run.system, {}).get(run.query_set))
    }
)


SCOPES = {scope_of(attribute): attribute for attribute in map(study.within, study.query_sets)}


def files_within(attribute, corpus="", query_set=""):
    """The files that say which poems a query is searched among, by the options that name them; none for all poems."""
    of_poems = {part: f"{RESULTS}/corpora/{corpus}/{part}.parquet" for part in ("poems", "attributes") if corpus}
    if query_set:
        of_poems["query-attributes"] = f"{RESULTS}/queries/{study.attributed(query_set)}.attributes.parquet"
    return of_poems if attribute else {}


def options_within(attribute, corpus="", query_set=""):
    """The options of a verb that searches or indexes within an attribute; none for all poems."""
    named = files_within(attribute, corpus, query_set)
    options = [word for option, path in named.items() for word in (f"--{option}", path)]
    return ["--within", attribute, *options] if attribute else []


def reads(query_set):
    """What a lexical system searches for of each query: its text, or its span alone."""
    return "span" if study.encoding_of(query_set)["view"] == "span" else "text"


def parameters_of(wildcards):
    """The file with the parameters that a tuned system chose on a query set; none for fixed parameters."""
    if wildcards.tuned_on == UNTUNED:
        return []
    corpus, query_set = VALIDATED[wildcards.tuned_on]
    return f"{RESULTS}/tuning/{corpus}/{wildcards.mode}/{query_set}/{wildcards.system}.json"


rule tune_bm25:
    """Choose the parameters of BM25 on validation queries, in the mode that they are for."""
    input:
        chunks=rules.make_chunks.output,
        queries=f"{RESULTS}/queries/{{query_set}}.parquet",
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        within=lambda w: list(files_within(study.within(w.query_set), w.corpus, w.query_set).values()),
        code=code("tune_bm25"),
    output:
        tuned=f"{RESULTS}/tuning/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.json",
        cost=f"{RESULTS}/costs/tune_bm25/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.json",
    log:
        f"{RESULTS}/logs/tune_bm25/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/tune_bm25/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of([name for name in study.searched_kind("bm25") if study.is_tuned(name)]),
    conda:
        "../../envs/core.yaml"
    params:
        entry=lambda w: system_entry(w.system),
        reads=lambda w: reads(w.query_set),
        within=lambda w: options_within(study.within(w.query_set), w.corpus, w.query_set),
        depth=study.spec["depth"],
    message:
        "Tuning {wildcards.system} on {wildcards.query_set} in {wildcards.corpus}, mode {wildcards.mode}"
    shell:
        "python -m verseir tune_bm25 --corpus {wildcards.corpus:q} --mode {wildcards.mode:q}"
        " --query-set {wildcards.query_set:q} --system {wildcards.system:q} --entry {params.entry:q}"
        " --chunks {input.chunks:q} --queries {input.queries:q} --qrels {input.qrels:q} --reads {params.reads}"
        " {params.within:q} --depth {params.depth} --output {output.tuned:q} --cost {output.cost:q} 2>&1 | tee {log:q}"


rule index_bm25:
    """Index the chunks of one corpus and mode for BM25: all together, or those of each value of an attribute apart."""
    input:
        chunks=rules.make_chunks.output,
        tuned=parameters_of,
        within=lambda w: list(files_within(SCOPES[w.scope], w.corpus).values()),
        code=code("index_bm25"),
    output:
        index=[f"{RESULTS}/indexes/{{corpus}}/{{mode}}/{{system}}/{{tuned_on}}/{{scope}}/{file}" for file in BM25_FILES],
        cost=f"{RESULTS}/costs/index_bm25/{{corpus}}/{{mode}}/{{system}}/{{tuned_on}}/{{scope}}.json",
    log:
        f"{RESULTS}/logs/index_bm25/{{corpus}}/{{mode}}/{{system}}/{{tuned_on}}/{{scope}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/index_bm25/{{corpus}}/{{mode}}/{{system}}/{{tuned_on}}/{{scope}}.tsv"
    wildcard_constraints:
        system=one_of(study.searched_kind("bm25")),
        tuned_on=one_of([UNTUNED, *VALIDATED]),
        scope=one_of(SCOPES),
    conda:
        "../../envs/core.yaml"
    params:
        entry=lambda w: system_entry(w.system),
        folder=lambda w, output: str(Path(output.index[0]).parent),
        within=lambda w: options_within(SCOPES[w.scope], w.corpus),
    message:
        "Indexing {wildcards.corpus}, mode {wildcards.mode}, for {wildcards.system}"
    shell:
        "python -m verseir index_bm25 --corpus {wildcards.corpus:q} --system {wildcards.system:q} --entry {params.entry:q}"
        " --tuned {input.tuned:q} --chunks {input.chunks:q} {params.within:q} --output {params.folder:q}"
        " --cost {output.cost:q} 2>&1 | tee {log:q}"


def chunks_read(wildcards):
    """The chunks that an encoder reads of a corpus."""
    place = f"{RESULTS}/corpora/{wildcards.corpus}/chunks"
    return [f"{place}/{mode}.parquet" for mode in study.modes_read(wildcards.corpus, wildcards.system)]


def queries_read(wildcards):
    """The queries that an encoder reads of a corpus."""
    read = study.query_sets_read(wildcards.corpus, wildcards.system)
    return [f"{RESULTS}/queries/{query_set}.parquet" for query_set in read]


def encodings_read(wildcards):
    """How the queries of each of these sets are read."""
    read = study.query_sets_read(wildcards.corpus, wildcards.system)
    return [canonical(study.encoding_of(query_set)) for query_set in read]


def gpus_of(wildcards):
    """How many GPUs a job of an encoder asks for: the encoder on NumPy has no use for one."""
    return int(can_use_gpu(study.registry[wildcards.system]))


def trained_model(wildcards):
    """The folder of an encoder that the study trains."""
    run = study.trained.get(wildcards.system)
    return f"{run.folder(study.name)}/model" if run else []


SHARDS = {system: study.shards(system) for system in study.encoders}


rule encode_texts:
    """Load one encoder once and encode all texts of one corpus and its queries that the store does not hold yet."""
    input:
        chunks=chunks_read,
        queries=queries_read,
        model=trained_model,
        code=code("encode_texts"),
    output:
        encoding=f"{RESULTS}/encodings/{{corpus}}/{{system}}.json",
        cost=f"{RESULTS}/costs/encode_texts/{{corpus}}/{{system}}.json",
    log:
        f"{RESULTS}/logs/encode_texts/{{corpus}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/encode_texts/{{corpus}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of([system for system, jobs in SHARDS.items() if jobs == 1]),
    conda:
        "../../envs/encoders.yaml"
    threads: 8
    resources:
        gpu=gpus_of,
        mem_mb=lambda w, attempt: 8000 * attempt,
    params:
        entry=lambda w: system_entry(w.system),
        encodings=encodings_read,
    message:
        "Encoding {wildcards.corpus} with {wildcards.system}"
    shell:
        "python -m verseir encode_texts --threads {threads} --gpus {resources.gpu} --corpus {wildcards.corpus:q}"
        " --system {wildcards.system:q} --entry {params.entry:q} --chunks {input.chunks:q} --queries {input.queries:q}"
        " --encodings {params.encodings:q} --output {output.encoding:q} --cost {output.cost:q} 2>&1 | tee {log:q}"


rule encode_shard:
    """Encode one share of the texts of a corpus and its queries, where several jobs encode them (`shards`)."""
    input:
        chunks=chunks_read,
        queries=queries_read,
        model=trained_model,
        code=code("encode_shard"),
    output:
        part=f"{RESULTS}/encodings/{{corpus}}/{{system}}/{{shard}}-of-{{shards}}.json",
        cost=f"{RESULTS}/costs/encode_shard/{{corpus}}/{{system}}/{{shard}}-of-{{shards}}.json",
    log:
        f"{RESULTS}/logs/encode_shard/{{corpus}}/{{system}}/{{shard}}-of-{{shards}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/encode_shard/{{corpus}}/{{system}}/{{shard}}-of-{{shards}}.tsv"
    wildcard_constraints:
        system=one_of([system for system, jobs in SHARDS.items() if jobs > 1]),
        shard="[0-9]+",
        shards="[0-9]+",
    conda:
        "../../envs/encoders.yaml"
    threads: 8
    resources:
        gpu=gpus_of,
        mem_mb=lambda w, attempt: 8000 * attempt,
    params:
        entry=lambda w: system_entry(w.system),
        encodings=encodings_read,
    message:
        "Encoding {wildcards.corpus} with {wildcards.system}, share {wildcards.shard} of {wildcards.shards}"
    shell:
        "python -m verseir encode_shard --threads {threads} --gpus {resources.gpu} --corpus {wildcards.corpus:q}"
        " --system {wildcards.system:q} --entry {params.entry:q} --chunks {input.chunks:q} --queries {input.queries:q}"
        " --encodings {params.encodings:q} --shard {wildcards.shard} --shards {wildcards.shards}"
        " --output {output.part:q} --cost {output.cost:q} 2>&1 | tee {log:q}"


def shares(folder):
    """The files of all jobs that share the texts of an encoder, below a folder of the results."""

    def files(wildcards):
        jobs = SHARDS[wildcards.system]
        place = f"{RESULTS}/{folder}/{wildcards.corpus}/{wildcards.system}"
        return [f"{place}/{shard}-of-{jobs}.json" for shard in range(1, jobs + 1)]

    return files


rule merge_shards:
    """One account of an encoder whose texts several jobs encoded, as one job would have given it."""
    input:
        parts=shares("encodings"),
        costs=shares("costs/encode_shard"),
        code=code("merge_shards"),
    output:
        encoding=f"{RESULTS}/encodings/{{corpus}}/{{system}}.json",
        cost=f"{RESULTS}/costs/encode_texts/{{corpus}}/{{system}}.json",
    log:
        f"{RESULTS}/logs/merge_shards/{{corpus}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/merge_shards/{{corpus}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of([system for system, jobs in SHARDS.items() if jobs > 1]),
    conda:
        "../../envs/encoders.yaml"
    message:
        "Merging the shares of {wildcards.system} on {wildcards.corpus}"
    shell:
        "python -m verseir merge_shards --corpus {wildcards.corpus:q} --system {wildcards.system:q}"
        " --parts {input.parts:q} --costs {input.costs:q} --output {output.encoding:q} --cost {output.cost:q}"
        " 2>&1 | tee {log:q}"
