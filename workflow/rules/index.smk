# Indexes and vectors.


rule index_bm25:
    """Index the chunks of one corpus and mode for BM25."""
    input:
        chunks=rules.make_chunks.output,
        code=code("index_bm25"),
    output:
        index=[f"{RESULTS}/indexes/{{corpus}}/{{mode}}/{{system}}/{file}" for file in BM25_FILES],
        cost=f"{RESULTS}/costs/index_bm25/{{corpus}}/{{mode}}/{{system}}.json",
    log:
        f"{RESULTS}/logs/index_bm25/{{corpus}}/{{mode}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/index_bm25/{{corpus}}/{{mode}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.searched_kind("bm25")),
    conda:
        "../../envs/core.yaml"
    params:
        entry=lambda w: system_entry(w.system),
        folder=lambda w, output: str(Path(output.index[0]).parent),
    message:
        "Indexing {wildcards.corpus}, mode {wildcards.mode}, for {wildcards.system}"
    shell:
        "python -m verseir index_bm25 --corpus {wildcards.corpus:q} --system {wildcards.system:q} --entry {params.entry:q}"
        " --chunks {input.chunks:q} --output {params.folder:q} --cost {output.cost:q} 2>&1 | tee {log:q}"


rule encode_texts:
    """Load one encoder once and encode all texts of one corpus and its queries that the store does not hold yet."""
    input:
        chunks=lambda w: [
            f"{RESULTS}/corpora/{w.corpus}/chunks/{mode}.parquet" for mode in study.modes_read(w.corpus, w.system)
        ],
        queries=lambda w: [
            f"{RESULTS}/queries/{query_set}.parquet" for query_set in study.query_sets_read(w.corpus, w.system)
        ],
        code=code("encode_texts"),
    output:
        encoding=f"{RESULTS}/encodings/{{corpus}}/{{system}}.json",
        cost=f"{RESULTS}/costs/encode_texts/{{corpus}}/{{system}}.json",
    log:
        f"{RESULTS}/logs/encode_texts/{{corpus}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/encode_texts/{{corpus}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.encoders),
    conda:
        "../../envs/encoders.yaml"
    threads: 8
    resources:
        gpu=1,
        mem_mb=8000,
    params:
        entry=lambda w: system_entry(w.system),
    message:
        "Encoding {wildcards.corpus} with {wildcards.system}"
    shell:
        "python -m verseir encode_texts --threads {threads} --corpus {wildcards.corpus:q} --system {wildcards.system:q}"
        " --entry {params.entry:q} --chunks {input.chunks:q} --queries {input.queries:q}"
        " --output {output.encoding:q} --cost {output.cost:q} 2>&1 | tee {log:q}"
