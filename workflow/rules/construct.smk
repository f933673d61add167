# Building a benchmark: queries parted into train and test, and graded by what judges and people say of their pools.

SPLIT_SETS = [name for name in study.query_sets if "split" in study.spec["query_sets"][name]]
LABELS = [f"{TABLES}/labels.csv"] if study.graded_sets else []


def split_of(query_set):
    return study.spec["query_sets"][query_set]["split"]


def graded_of(query_set):
    """What a set is graded from: `of`, `part`, and `judge` or `sheet`."""
    return study.spec["query_sets"][query_set]["graded"]


def graded_in(query_set):
    """The corpus whose poems have the grades of a set."""
    return study.spec["query_sets"][query_set]["corpora"][0]


def of_parent(query_set, suffix=""):
    return f"{RESULTS}/queries/{graded_of(query_set)['of']}{suffix}"


def grades_of(query_set):
    """What the judge of a set said, or the people of its sheet."""
    given = graded_of(query_set)
    if "sheet" in given:
        return f"{RESULTS}/annotations/{given['sheet']}.parquet"
    return f"{RESULTS}/judgements/{graded_in(query_set)}/{given['of']}/{given['judge']}.parquet"


def items_of(query_set):
    """What was to be judged for a set."""
    given = graded_of(query_set)
    if "sheet" in given:
        return f"{RESULTS}/sheets/{given['sheet']}/items.parquet"
    return f"{RESULTS}/pool/{graded_in(query_set)}/{given['of']}.parquet"


def rubric_of(query_set):
    """The rubric whose scale the grades of a set are on; none for a sheet with the scale of its kind."""
    given = graded_of(query_set)
    return [RUBRICS[given["judge"]]] if "judge" in given else rubrics_of([given["sheet"]])


def grading_options(query_set):
    """Who grades which part of a set, as options."""
    given = graded_of(query_set)
    return [word for key in ("part", "judge", "sheet") if key in given for word in (f"--{key}", given[key])]


rule split_queries:
    """Part the queries of a set into train and test, so that clusters of their vectors have equal shares in both."""
    input:
        queries=QUERIES,
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        encoding=lambda w: f"{RESULTS}/encodings/{study.split_place(w.query_set)}/{split_of(w.query_set)['encoder']}.json",
        code=code("split_queries"),
    output:
        f"{RESULTS}/queries/{{query_set}}.split.csv",
    log:
        f"{RESULTS}/logs/split_queries/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/split_queries/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(SPLIT_SETS),
    conda:
        "../../envs/encoders.yaml"
    params:
        split=lambda w: canonical({key: split_of(w.query_set)[key] for key in ("test", "clusters", "gold")}),
        entry=lambda w: system_entry(split_of(w.query_set)["encoder"]),
        encoding=lambda w: canonical(study.encoding_of(w.query_set)),
        seed=study.spec["seed"],
    message:
        "Splitting {wildcards.query_set} into train and test"
    shell:
        "python -m verseir split_queries --query-set {wildcards.query_set:q} --split {params.split:q}"
        " --queries {input.queries:q} --qrels {input.qrels:q} --entry {params.entry:q} --encoding {input.encoding:q}"
        " --query-encoding {params.encoding:q} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule grade_queries:
    """The queries of a part of a set, with the grades that a judge or people gave to its pool."""
    input:
        queries=lambda w: of_parent(w.query_set, ".parquet"),
        attributes=lambda w: query_attributes_of(graded_of(w.query_set)["of"]),
        split=lambda w: of_parent(w.query_set, ".split.csv") if "part" in graded_of(w.query_set) else [],
        grades=lambda w: grades_of(w.query_set),
        to_grade=lambda w: items_of(w.query_set),
        rubric=lambda w: rubric_of(w.query_set),
        duplicates=lambda w: f"{RESULTS}/corpora/{graded_in(w.query_set)}/duplicates.csv",
        reach=lambda w: reach_files(graded_in(w.query_set), graded_of(w.query_set)["of"]),
        code=code("grade_queries"),
    output:
        queries=QUERIES,
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        attributes=f"{RESULTS}/queries/{{query_set}}.attributes.parquet",
        labels=f"{RESULTS}/queries/{{query_set}}.labels.csv",
    log:
        f"{RESULTS}/logs/grade_queries/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/grade_queries/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(study.graded_sets),
    conda:
        "../../envs/core.yaml"
    params:
        corpus=lambda w: graded_in(w.query_set),
        parent=lambda w: graded_of(w.query_set)["of"],
        options=lambda w: grading_options(w.query_set),
        reach=lambda w: reach_options(graded_in(w.query_set), graded_of(w.query_set)["of"]),
    message:
        "Grading the query set {wildcards.query_set}"
    shell:
        "python -m verseir grade_queries --name {wildcards.query_set:q} --corpus {params.corpus:q}"
        " --parent {params.parent:q} {params.options:q} --rubric {input.rubric:q} --split {input.split:q}"
        " --grades {input.grades:q} --items {input.to_grade:q} --queries {input.queries:q} --attributes {input.attributes:q}"
        " --duplicates {input.duplicates:q} {params.reach:q} --output-queries {output.queries:q} --output-qrels {output.qrels:q}"
        " --output-attributes {output.attributes:q} --labels {output.labels:q} 2>&1 | tee {log:q}"


if LABELS:

    rule count_labels:
        """How many queries and pairs each graded set has, by grade, and what was left out."""
        input:
            labels=expand(f"{RESULTS}/queries/{{query_set}}.labels.csv", query_set=study.graded_sets),
            code=code("count_labels"),
        output:
            LABELS,
        log:
            f"{RESULTS}/logs/count_labels.log",
        benchmark:
            f"{RESULTS}/benchmarks/count_labels.tsv"
        conda:
            "../../envs/core.yaml"
        message:
            "Counting the labels of graded query sets"
        shell:
            "python -m verseir count_labels --labels {input.labels:q} --output {output:q} 2>&1 | tee {log:q}"
