# Checks of the corpora that results could hang on.

AUDITS = {
    name: dict(sorted(study.spec["corpora"][name]["audits"].items()))
    for name in study.corpora
    if "audits" in study.spec["corpora"][name]
}


def audited(corpus):
    """The sources that a language model writes for a corpus and people audit."""
    return [source for source in study.written[corpus] if source in AUDITS[corpus]]


rule locate_spans:
    """Whether quoted spans stand in one poem alone, where in it, and whether systems find it."""
    input:
        per_query=rules.evaluate_runs.output,
        judged=judged(KNOWN),
        wording=overlap_files("wording", KNOWN),
        code=code("locate_spans"),
    output:
        spans=f"{TABLES}/quoted_spans.csv",
        successes=f"{TABLES}/span_success.csv",
    log:
        f"{RESULTS}/logs/locate_spans.log",
    benchmark:
        f"{RESULTS}/benchmarks/locate_spans.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=KNOWN,
        quoting=study.analyses["quoting"],
        success=study.analyses["success"],
        resamples=study.spec["bootstrap"],
        seed=study.spec["seed"],
    message:
        "Locating quoted spans"
    shell:
        "python -m verseir locate_spans --results {params.results:q} --query-sets {params.query_sets:q}"
        " --per-query {input.per_query:q} --wording {input.wording:q} --quoting {params.quoting}"
        " --success {params.success} --resamples {params.resamples} --seed {params.seed}"
        " --spans {output.spans:q} --successes {output.successes:q} 2>&1 | tee {log:q}"


rule test_trends:
    """Whether success goes with the era of the poem, or with how many poems its poet has."""
    input:
        per_query=rules.evaluate_runs.output,
        judged=judged(KNOWN),
        poems=poems_of(KNOWN),
        code=code("test_trends"),
    output:
        era_trend=f"{TABLES}/era_trend.csv",
        poet_frequency=f"{TABLES}/poet_frequency.csv",
    log:
        f"{RESULTS}/logs/test_trends.log",
    benchmark:
        f"{RESULTS}/benchmarks/test_trends.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        corpora=sorted({corpus for corpus, _ in study.searched_places(KNOWN)}),
        query_sets=KNOWN,
        success=study.analyses["success"],
        lexical=study.lexical,
        dense=study.dense,
    message:
        "Testing trends over eras and poets"
    shell:
        "python -m verseir test_trends --results {params.results:q} --corpora {params.corpora:q}"
        " --query-sets {params.query_sets:q} --success {params.success} --lexical {params.lexical:q}"
        " --dense {params.dense:q} --era-trend {output.era_trend:q}"
        " --poet-frequency {output.poet_frequency:q} 2>&1 | tee {log:q}"


rule compare_gold_poems:
    """Whether the poems that queries ask for differ from the rest of their corpus."""
    input:
        judged=judged(KNOWN),
        poems=poems_of(KNOWN),
        code=code("compare_gold_poems"),
    output:
        f"{TABLES}/gold_poems.csv",
    log:
        f"{RESULTS}/logs/compare_gold_poems.log",
    benchmark:
        f"{RESULTS}/benchmarks/compare_gold_poems.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        searched=canonical({name: study.spec["query_sets"][name]["corpora"] for name in KNOWN}),
        draws=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Comparing gold poems with the rest"
    shell:
        "python -m verseir compare_gold_poems --results {params.results:q} --searched {params.searched:q}"
        " --draws {params.draws} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule fold_duplicates:
    """What changes where poems that repeat each other count as one."""
    input:
        runs=[str(run.path(f"{RESULTS}/runs")) for run in runs(of_query_sets(study.cross, KNOWN))],
        per_query=rules.evaluate_runs.output,
        judged=judged(KNOWN),
        duplicates=expand(f"{RESULTS}/corpora/{{corpus}}/duplicates.csv", corpus=study.corpora),
        chunks=kept_chunks(of_query_sets(study.cross, KNOWN)),
        code=code("fold_duplicates"),
    output:
        report(
            f"{TABLES}/duplicate_folding.csv",
            caption="../report/duplicate_folding_table.rst",
            category="Tables",
            subcategory="Checks and costs",
        ),
    log:
        f"{RESULTS}/logs/fold_duplicates.log",
    benchmark:
        f"{RESULTS}/benchmarks/fold_duplicates.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        cross=canonical(of_query_sets(study.cross, KNOWN)),
        measures=study.analyses["measures"],
        resamples=study.spec["bootstrap"],
        seed=study.spec["seed"],
    message:
        "Folding duplicates"
    shell:
        "python -m verseir fold_duplicates --results {params.results:q} --cross {params.cross:q}"
        " --measures {params.measures:q} --resamples {params.resamples} --seed {params.seed}"
        " --output {output:q} 2>&1 | tee {log:q}"


rule audit_explanations:
    """What people who audited explanations found."""
    input:
        poems=expand(f"{RESULTS}/corpora/{{corpus}}/{{part}}.parquet", corpus=AUDITS, part=["poems", "explanations"]),
        written=[f"{RESULTS}/corpora/{name}/written/{source}.parquet" for name in AUDITS for source in audited(name)],
        files=[path for sources in AUDITS.values() for path in sources.values()],
        code=code("audit_explanations"),
    output:
        f"{TABLES}/explanation_audit.csv",
    log:
        f"{RESULTS}/logs/audit_explanations.log",
    benchmark:
        f"{RESULTS}/benchmarks/audit_explanations.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        audits=canonical(AUDITS),
        written=canonical({name: audited(name) for name in AUDITS}),
    message:
        "Reading audits of explanations"
    shell:
        "python -m verseir audit_explanations --results {params.results:q} --audits {params.audits:q}"
        " --written {params.written:q}"
        " --output {output:q} 2>&1 | tee {log:q}"
