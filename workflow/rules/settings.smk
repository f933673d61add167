# Settings of a benchmark: what all queries of a set have in common, such as an aspect; and means over them.

from verseir.report.spoken import setting_sets

GRADED_SPLITS = setting_sets(study.spec)
GRADED_TABLE, GRADED_PAPER = [], []

if GRADED_SPLITS:
    GRADED_TABLE = [f"{TABLES}/graded_settings.csv"]
    GRADED_PAPER = [
        f"{RESULTS}/paper/table-settings-{name}.{suffix}" for name in ("means", "values") for suffix in ("csv", "tex")
    ]

    rule average_settings:
        """Means of each setting of a benchmark, and means over its settings and languages."""
        input:
            per_query=rules.evaluate_runs.output,
            queries=expand(
                f"{RESULTS}/queries/{{query_set}}{{part}}.parquet",
                query_set=GRADED_SPLITS,
                part=["", ".qrels", ".attributes"],
            ),
            code=code("average_settings"),
        output:
            GRADED_TABLE,
        log:
            f"{RESULTS}/logs/average_settings.log",
        benchmark:
            f"{RESULTS}/benchmarks/average_settings.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            splits=canonical(GRADED_SPLITS),
            resamples=study.spec["bootstrap"],
            seed=study.spec["seed"],
        message:
            "Averaging over settings and languages"
        shell:
            "python -m verseir average_settings --results {params.results:q} --splits {params.splits:q}"
            " --resamples {params.resamples} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"

    rule typeset_settings:
        """The tables of a paper about the settings of a benchmark, ready to paste: CSV and LaTeX."""
        input:
            settings=GRADED_TABLE,
            code=code("typeset_settings"),
        output:
            GRADED_PAPER,
        log:
            f"{RESULTS}/logs/typeset_settings.log",
        benchmark:
            f"{RESULTS}/benchmarks/typeset_settings.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            systems=study.shown_systems,
            measures=study.spec["measures"],
            folder=f"{RESULTS}/paper",
        message:
            "Typesetting tables of settings"
        shell:
            "python -m verseir typeset_settings --settings {input.settings:q} --systems {params.systems:q}"
            " --measures {params.measures:q} --output {params.folder:q} 2>&1 | tee {log:q}"
