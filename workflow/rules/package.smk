# Benchmarks that the study has built, as data sets. None is part of `all`: `snakemake packages` makes them.

PACKAGES = study.spec["packages"]
# Of the files of a package, those that every one has; the others lie beside them.
PACKAGE_FILES = ["README.md", "counts.csv", "corpus/test.parquet"]


def packaged(package):
    """The query sets of a package, sorted."""
    return sorted({name for splits in PACKAGES[package]["settings"].values() for name in splits.values()})


def package_labels(package):
    """Who graded each query set of a package that the study graded."""
    return {name: label for name in packaged(package) if (label := labelled_by(study, name))}


def package_splits(package):
    """How the parents of the query sets of a package were split."""
    parents = sorted({label["of"] for label in package_labels(package).values()})
    sets = study.spec["query_sets"]
    return {name: sets[name]["split"] for name in parents if "split" in sets[name]}


def pooling_options(package):
    """How the results were pooled that were judged for a package."""
    if not package_labels(package):
        return []
    pooling = study.judging.get("pooling")
    return ["--pooling", canonical(pooling)] if pooling else ["--depth", str(study.judging["depth"])]


rule package_benchmark:
    """A corpus and the query sets that are judged on it, as a benchmark in the form of PoetryMTEB."""
    input:
        poems=lambda w: f"{RESULTS}/corpora/{PACKAGES[w.package]['corpus']}/poems.parquet",
        queries=lambda w: expand(f"{RESULTS}/queries/{{query_set}}.parquet", query_set=packaged(w.package)),
        qrels=lambda w: expand(f"{RESULTS}/queries/{{query_set}}.qrels.parquet", query_set=packaged(w.package)),
        attributes=lambda w: [file for name in packaged(w.package) for file in [query_attributes_of(name)] if file],
        labels=lambda w: expand(f"{RESULTS}/queries/{{query_set}}.labels.csv", query_set=package_labels(w.package)),
        prompts=lambda w: sorted(set(package_prompts(study, PACKAGES[w.package]).values())),
        code=code("package_benchmark"),
    output:
        expand(f"{RESULTS}/packages/{{{{package}}}}/{{file}}", file=PACKAGE_FILES),
    log:
        f"{RESULTS}/logs/package_benchmark/{{package}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/package_benchmark/{{package}}.tsv"
    wildcard_constraints:
        package=one_of(PACKAGES),
    conda:
        "../../envs/core.yaml"
    params:
        study=study.name,
        title=study.spec["title"],
        about=study.spec.get("about", ""),
        results=RESULTS,
        corpus=lambda w: PACKAGES[w.package]["corpus"],
        corpus_spec=lambda w: spec("corpora", PACKAGES[w.package]["corpus"]),
        settings=lambda w: canonical(PACKAGES[w.package]["settings"]),
        labels=lambda w: canonical(package_labels(w.package)),
        splits=lambda w: canonical(package_splits(w.package)),
        pooling=lambda w: pooling_options(w.package),
        prompts=lambda w: canonical(package_prompts(study, PACKAGES[w.package])),
        folder=f"{RESULTS}/packages/{{package}}",
    message:
        "Packaging the benchmark {wildcards.package}"
    shell:
        "python -m verseir package_benchmark --package {wildcards.package:q} --study {params.study:q}"
        " --title={params.title:q} --about={params.about:q} --results {params.results:q} --corpus {params.corpus:q}"
        " --corpus-spec {params.corpus_spec:q} --poems {input.poems:q} --settings {params.settings:q}"
        " --labels {params.labels:q} --splits {params.splits:q} {params.pooling:q} --prompts {params.prompts:q}"
        " --output {params.folder:q} 2>&1 | tee {log:q}"


rule packages:
    """Every benchmark of the study."""
    input:
        expand(f"{RESULTS}/packages/{{package}}/README.md", package=PACKAGES),
    message:
        "The benchmarks of {study.name} are done: {RESULTS}/packages"
