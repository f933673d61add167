# From ranked lists to tables. Nothing here needs a model: imported runs are as good as computed ones.

RUNS = [str(run.path(f"{RESULTS}/runs")) for run in runs(study.cross)]
ALL_QUERIES = expand(f"{RESULTS}/queries/{{query_set}}.parquet", query_set=study.query_sets)
JUDGED_LATER = [name for name in study.query_sets if study.spec["query_sets"][name]["judged"] == "later"]
ALL_QRELS = expand(f"{RESULTS}/queries/{{query_set}}.qrels.parquet", query_set=study.query_sets)


def kept_chunks(cross):
    """What the modes of a cross index that keep some poems only: it says which judgements count there."""
    return sorted({path for run in runs(cross) for path in indexed_in(run.corpus, [run.mode])})


def of_query_sets(cross, query_sets):
    """A cross with these query sets alone."""
    return cross | {"query_sets": {name: cross["query_sets"][name] for name in query_sets}}


def families_of(*compared):
    """The declared families that compare systems, query sets or modes, as a parameter."""
    return canonical([family for family in study.spec["contrasts"] if family["of"] in compared])


rule evaluate_runs:
    """Measure every query of every run."""
    input:
        runs=RUNS,
        queries=ALL_QUERIES,
        qrels=ALL_QRELS,
        chunks=kept_chunks(study.cross),
        code=code("evaluate_runs"),
    output:
        f"{RESULTS}/per_query.parquet",
    log:
        f"{RESULTS}/logs/evaluate_runs.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate_runs.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        cross=CROSS,
        measures=study.spec["measures"],
        judged_later=JUDGED_LATER,
        results=RESULTS,
    message:
        "Measuring all runs"
    shell:
        "python -m verseir evaluate_runs --results {params.results:q} --cross {params.cross:q}"
        " --measures {params.measures:q} --judged-later {params.judged_later:q} --output {output:q} 2>&1 | tee {log:q}"


rule make_leaderboard:
    """Means with intervals: of each query set, and of each register in it."""
    input:
        per_query=rules.evaluate_runs.output,
        queries=ALL_QUERIES,
        qrels=ALL_QRELS,
        code=code("make_leaderboard"),
    output:
        leaderboard=report(
            f"{RESULTS}/tables/leaderboard.csv",
            caption="../report/leaderboard.rst",
            category="Tables",
            subcategory="Systems",
        ),
        registers=report(
            f"{RESULTS}/tables/registers.csv",
            caption="../report/register_means.rst",
            category="Tables",
            subcategory="Systems",
        ),
    log:
        f"{RESULTS}/logs/make_leaderboard.log",
    benchmark:
        f"{RESULTS}/benchmarks/make_leaderboard.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=study.query_sets,
        cross=CROSS,
        measures=study.spec["measures"],
        resamples=study.spec["bootstrap"],
        seed=study.spec["seed"],
    message:
        "Making the leaderboard"
    shell:
        "python -m verseir make_leaderboard --results {params.results:q} --query-sets {params.query_sets:q}"
        " --cross {params.cross:q} --measures {params.measures:q} --resamples {params.resamples}"
        " --seed {params.seed} --leaderboard {output.leaderboard:q} --registers {output.registers:q} 2>&1 | tee {log:q}"


rule compare_systems:
    """Paired tests of the declared families, with intervals and Holm's correction."""
    input:
        per_query=rules.evaluate_runs.output,
        queries=ALL_QUERIES,
        qrels=ALL_QRELS,
        code=code("compare_systems"),
    output:
        report(
            f"{RESULTS}/tables/contrasts.csv",
            caption="../report/contrasts.rst",
            category="Tables",
            subcategory="Systems",
        ),
    log:
        f"{RESULTS}/logs/compare_systems.log",
    benchmark:
        f"{RESULTS}/benchmarks/compare_systems.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=study.query_sets,
        families=families_of("systems"),
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Testing the declared contrasts"
    shell:
        "python -m verseir compare_systems --results {params.results:q} --query-sets {params.query_sets:q}"
        " --families {params.families:q} --resamples {params.resamples} --flips {params.flips} --seed {params.seed}"
        " --output {output:q} 2>&1 | tee {log:q}"


SETTING_FAMILIES = families_of("query_sets", "modes")
SETTING_TABLE = [] if SETTING_FAMILIES == "[]" else [f"{RESULTS}/tables/setting_contrasts.csv"]

if SETTING_TABLE:

    rule compare_settings:
        """Paired tests between query sets, and between indexing modes, of one system on the same queries."""
        input:
            per_query=rules.evaluate_runs.output,
            queries=ALL_QUERIES,
            qrels=ALL_QRELS,
            chunks=kept_chunks(study.cross),
            code=code("compare_settings"),
        output:
            SETTING_TABLE,
        log:
            f"{RESULTS}/logs/compare_settings.log",
        benchmark:
            f"{RESULTS}/benchmarks/compare_settings.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            query_sets=study.query_sets,
            families=SETTING_FAMILIES,
            kept=study.cross.get("kept", []),
            resamples=study.spec["bootstrap"],
            flips=study.spec["flips"],
            seed=study.spec["seed"],
        message:
            "Comparing ways to ask and to index"
        shell:
            "python -m verseir compare_settings --results {params.results:q} --query-sets {params.query_sets:q}"
            " --families {params.families:q} --kept {params.kept:q} --resamples {params.resamples}"
            " --flips {params.flips} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule report_ties:
    """How often ties touch a cut, and how far the order of tied poems could move each measure."""
    input:
        runs=RUNS,
        queries=ALL_QUERIES,
        qrels=ALL_QRELS,
        chunks=kept_chunks(study.cross),
        code=code("report_ties"),
    output:
        report(
            f"{RESULTS}/tables/ties.csv",
            caption="../report/ties_table.rst",
            category="Tables",
            subcategory="Checks and costs",
        ),
    log:
        f"{RESULTS}/logs/report_ties.log",
    benchmark:
        f"{RESULTS}/benchmarks/report_ties.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        cross=CROSS,
        measures=study.spec["measures"],
        judged_later=JUDGED_LATER,
        results=RESULTS,
    message:
        "Reporting ties"
    shell:
        "python -m verseir report_ties --results {params.results:q} --cross {params.cross:q}"
        " --measures {params.measures:q} --judged-later {params.judged_later:q} --output {output:q} 2>&1 | tee {log:q}"


STRATA = study.strata
STRATA_CROSS = of_query_sets(study.cross, STRATA)
STRATA_TABLE = [f"{RESULTS}/tables/strata.csv"] if STRATA else []

if STRATA:

    rule make_strata:
        """Means with intervals by attributes of queries, and how far ties could move each."""
        input:
            runs=[str(run.path(f"{RESULTS}/runs")) for run in runs(STRATA_CROSS)],
            queries=expand(
                f"{RESULTS}/queries/{{query_set}}{{part}}.parquet",
                query_set=STRATA,
                part=["", ".qrels", ".attributes"],
            ),
            chunks=kept_chunks(STRATA_CROSS),
            code=code("make_strata"),
        output:
            STRATA_TABLE,
        log:
            f"{RESULTS}/logs/make_strata.log",
        benchmark:
            f"{RESULTS}/benchmarks/make_strata.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            cross=canonical(STRATA_CROSS),
            strata=canonical(STRATA),
            measures=study.spec["measures"],
            judged_later=[name for name in STRATA if name in JUDGED_LATER],
            resamples=study.spec["bootstrap"],
            seed=study.spec["seed"],
        message:
            "Making means by attributes of queries"
        shell:
            "python -m verseir make_strata --results {params.results:q} --cross {params.cross:q}"
            " --strata {params.strata:q} --measures {params.measures:q} --judged-later {params.judged_later:q}"
            " --resamples {params.resamples} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule collect_costs:
    """What each system cost, and what its encoder saw of the texts."""
    input:
        costs=[str(path) for path in cost_files(WITH_ARMS, f"{RESULTS}/costs")],
        encodings=[str(path) for path in encoding_files(WITH_ARMS, f"{RESULTS}/encodings")],
        code=code("collect_costs"),
    output:
        costs=report(
            f"{RESULTS}/tables/costs.csv",
            caption="../report/costs_table.rst",
            category="Tables",
            subcategory="Checks and costs",
        ),
        encoding=report(
            f"{RESULTS}/tables/encoding.csv",
            caption="../report/encoding_table.rst",
            category="Tables",
            subcategory="Checks and costs",
        ),
    log:
        f"{RESULTS}/logs/collect_costs.log",
    benchmark:
        f"{RESULTS}/benchmarks/collect_costs.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        cross=canonical(WITH_ARMS),
        results=RESULTS,
    message:
        "Collecting costs"
    shell:
        "python -m verseir collect_costs --results {params.results:q} --cross {params.cross:q} --costs {output.costs:q}"
        " --encoding {output.encoding:q} 2>&1 | tee {log:q}"
