# Data sets of the study for other tools: BEIR and MTEB. None is part of `all`: `snakemake datasets` makes them.

EXPORTED = study.searched_places(study.query_sets)
# The sources of query sets that say more of a query than its text.
ATTRIBUTED = {"path", "idioms", "beir", "poetry", "graded"}


def exported_to(folder, files):
    return [f"{RESULTS}/{folder}/{corpus}/{query_set}/{file}" for corpus, query_set in EXPORTED for file in files]


def query_attributes_of(query_set):
    known = ATTRIBUTED & set(study.spec["query_sets"][query_set])
    return f"{RESULTS}/queries/{query_set}.attributes.parquet" if known else []


BEIR_FILES = ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]
MTEB_FILES = ["README.md", "task.py", *(f"{part}/test.parquet" for part in ("corpus", "queries", "qrels"))]


rule export_beir:
    """A corpus and a query set in the format of BEIR."""
    input:
        poems=rules.ingest_corpus.output.poems,
        corpus_attributes=rules.ingest_corpus.output.attributes,
        queries=f"{RESULTS}/queries/{{query_set}}.parquet",
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        attributes=lambda w: query_attributes_of(w.query_set),
        code=code("export_beir"),
    output:
        expand(f"{RESULTS}/beir/{{{{corpus}}}}/{{{{query_set}}}}/{{file}}", file=BEIR_FILES),
    log:
        f"{RESULTS}/logs/export_beir/{{corpus}}/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/export_beir/{{corpus}}/{{query_set}}.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        folder=f"{RESULTS}/beir/{{corpus}}/{{query_set}}",
    message:
        "Exporting {wildcards.query_set} of {wildcards.corpus} for BEIR"
    shell:
        "python -m verseir export_beir --poems {input.poems:q} --corpus-attributes {input.corpus_attributes:q}"
        " --queries {input.queries:q} --qrels {input.qrels:q} --attributes {input.attributes:q}"
        " --output {params.folder:q} 2>&1 | tee {log:q}"


rule export_mteb:
    """A corpus and a query set as a data set that MTEB loads, with its card and its task."""
    input:
        poems=rules.ingest_corpus.output.poems,
        queries=f"{RESULTS}/queries/{{query_set}}.parquet",
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        code=code("export_mteb"),
    output:
        expand(f"{RESULTS}/mteb/{{{{corpus}}}}/{{{{query_set}}}}/{{file}}", file=MTEB_FILES),
    log:
        f"{RESULTS}/logs/export_mteb/{{corpus}}/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/export_mteb/{{corpus}}/{{query_set}}.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        study=study.name,
        title=study.spec["title"],
        about=study.spec.get("about", ""),
        corpus_spec=lambda w: spec("corpora", w.corpus),
        query_spec=lambda w: spec("query_sets", w.query_set),
        modes=lambda w: canonical({mode: study.spec["modes"][mode] for mode in study.modes_of(w.corpus)}),
        keep=lambda w: canonical(study.spec["keep"]),
        folder=f"{RESULTS}/mteb/{{corpus}}/{{query_set}}",
    message:
        "Exporting {wildcards.query_set} of {wildcards.corpus} for MTEB"
    shell:
        "python -m verseir export_mteb --study {params.study:q} --title={params.title:q} --about={params.about:q}"
        " --corpus {wildcards.corpus:q} --query-set {wildcards.query_set:q} --corpus-spec {params.corpus_spec:q}"
        " --query-spec {params.query_spec:q} --modes {params.modes:q} --keep {params.keep:q} --poems {input.poems:q} --queries {input.queries:q}"
        " --qrels {input.qrels:q} --output {params.folder:q} 2>&1 | tee {log:q}"


rule datasets:
    """Every corpus with every query set that is searched in it, as data sets for BEIR and for MTEB."""
    input:
        exported_to("beir", BEIR_FILES),
        exported_to("mteb", MTEB_FILES),
    message:
        "The data sets of {study.name} are done: {RESULTS}/beir and {RESULTS}/mteb"
