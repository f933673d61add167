# What judges say of thematic results: one pool for all systems and modes, judged blind.

JUDGED_SETS = study.judging.get("query_sets", [])
JUDGED_CORPORA = sorted({corpus for corpus, _ in study.judged_places})
POOLING = study.judging.get("pooling")
RUBRICS = {name: judge["rubric"] for name, judge in sorted(study.judging.get("judges", {}).items())}
JUDGEMENTS = [f"{RESULTS}/judgements/{corpus}/{query_set}/{judge}" for corpus, query_set, judge in judge_places(study)]
DUPLICATES = f"{RESULTS}/corpora/{{corpus}}/duplicates.csv"


def judge_spec(judge):
    """One judge, without what else it judges, as a parameter that the order of its keys does not change."""
    given = study.judging["judges"][judge]
    return canonical({key: value for key, value in given.items() if key != "query_sets"})


def judge_files(judge):
    """The rubric of a judge, and its file of scores."""
    given = study.judging["judges"][judge]
    return [given[key] for key in ("rubric", "path") if key in given]


def judges_with(*keys):
    return one_of(name for name in study.judges if set(keys) & set(study.judging["judges"][name]))


def pooled(wildcards):
    """The cross of one corpus and one query set, with the systems and modes whose results are pooled."""
    return pooled_cross(study, wildcards.corpus, wildcards.query_set)


def pooling_options(wildcards):
    """How a pool by consensus and difference is made, as options; none where all first results are pooled."""
    if not POOLING:
        return []
    given = {key: POOLING[key] for key in ("candidates", "depth", "consensus")}
    return ["--pooling", canonical(given), "--qrels", *known_answers(wildcards)]


def known_answers(wildcards):
    return [f"{RESULTS}/queries/{wildcards.query_set}.qrels.parquet"] if POOLING else []


def reach_files(corpus, query_set):
    """The files that say which copies of a poem a query can find; none where it is searched among all poems."""
    return list(files_within(study.within(query_set), corpus, query_set).values())


def reach_options(corpus, query_set):
    """The same as options of a verb that folds duplicates."""
    files = reach_files(corpus, query_set)
    return ["--within", study.within(query_set), "--reach", *files] if files else []


rule pool_results:
    """What all systems put first for each query, each poem once, in an order that tells nothing."""
    input:
        runs=lambda w: [str(run.path(f"{RESULTS}/runs")) for run in runs(pooled(w))],
        duplicates=DUPLICATES,
        queries=QUERIES,
        known=known_answers,
        poems=f"{RESULTS}/corpora/{{corpus}}/poems.parquet",
        reach=lambda w: reach_files(w.corpus, w.query_set),
        code=code("pool_results"),
    output:
        pool=f"{RESULTS}/pool/{{corpus}}/{{query_set}}.parquet",
        csv=f"{RESULTS}/pool/{{corpus}}/{{query_set}}.csv",
    log:
        f"{RESULTS}/logs/pool_results/{{corpus}}/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/pool_results/{{corpus}}/{{query_set}}.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        cross=lambda w: canonical(pooled(w)),
        depth=study.judging.get("depth"),
        options=pooling_options,
        reach=lambda w: reach_options(w.corpus, w.query_set),
        verses=study.judging.get("verses"),
        seed=study.spec["seed"],
    message:
        "Pooling results of {wildcards.query_set} on {wildcards.corpus}"
    shell:
        "python -m verseir pool_results --results {params.results:q} --cross {params.cross:q}"
        " --corpus {wildcards.corpus:q} --query-set {wildcards.query_set:q} --duplicates {input.duplicates:q}"
        " --depth {params.depth} {params.options:q} {params.reach:q} --seed {params.seed} --queries {input.queries:q}"
        " --poems {input.poems:q} --verses {params.verses} --output {output.pool:q} --csv {output.csv:q}"
        " 2>&1 | tee {log:q}"


rule judge_pool:
    """Ask a language model about every item of a pool. Its answers are kept, item by item, when a run is stopped."""
    input:
        pool=rules.pool_results.output.pool,
        poems=f"{RESULTS}/corpora/{{corpus}}/poems.parquet",
        queries=QUERIES,
        files=lambda w: judge_files(w.judge),
        code=code("judge_pool"),
    output:
        judgements=f"{RESULTS}/judgements/{{corpus}}/{{query_set}}/{{judge}}.parquet",
        tally=f"{RESULTS}/judgements/{{corpus}}/{{query_set}}/{{judge}}.tally.csv",
    log:
        f"{RESULTS}/logs/judge_pool/{{corpus}}/{{query_set}}/{{judge}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/judge_pool/{{corpus}}/{{query_set}}/{{judge}}.tsv"
    wildcard_constraints:
        judge=judges_with("endpoint", "model"),
    conda:
        "../../envs/encoders.yaml"
    threads: 8
    resources:
        gpu=lambda w: int("model" in study.judging["judges"][w.judge]),
    params:
        spec=lambda w: judge_spec(w.judge),
        verses=study.judging.get("verses"),
        seed=study.spec["seed"],
    message:
        "{wildcards.judge} judges the pool of {wildcards.query_set} on {wildcards.corpus}"
    shell:
        "python -m verseir judge_pool --corpus {wildcards.corpus:q} --query-set {wildcards.query_set:q}"
        " --judge {wildcards.judge:q} --spec {params.spec:q} --pool {input.pool:q} --poems {input.poems:q}"
        " --queries {input.queries:q} --verses {params.verses} --seed {params.seed} --output {output.judgements:q}"
        " --tally {output.tally:q} 2>&1 | tee {log:q}"


rule import_judgements:
    """The scores of a judge from a file."""
    input:
        pool=rules.pool_results.output.pool,
        poems=f"{RESULTS}/corpora/{{corpus}}/poems.parquet",
        duplicates=DUPLICATES,
        queries=QUERIES,
        files=lambda w: judge_files(w.judge),
        reach=lambda w: reach_files(w.corpus, w.query_set),
        code=code("import_judgements"),
    output:
        judgements=f"{RESULTS}/judgements/{{corpus}}/{{query_set}}/{{judge}}.parquet",
        tally=f"{RESULTS}/judgements/{{corpus}}/{{query_set}}/{{judge}}.tally.csv",
    log:
        f"{RESULTS}/logs/import_judgements/{{corpus}}/{{query_set}}/{{judge}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/import_judgements/{{corpus}}/{{query_set}}/{{judge}}.tsv"
    wildcard_constraints:
        judge=judges_with("path"),
    conda:
        "../../envs/core.yaml"
    params:
        spec=lambda w: judge_spec(w.judge),
        reach=lambda w: reach_options(w.corpus, w.query_set),
    message:
        "Reading what {wildcards.judge} says of {wildcards.query_set} on {wildcards.corpus}"
    shell:
        "python -m verseir import_judgements --corpus {wildcards.corpus:q} --query-set {wildcards.query_set:q}"
        " --judge {wildcards.judge:q} --spec {params.spec:q} --pool {input.pool:q} --poems {input.poems:q}"
        " --duplicates {input.duplicates:q} {params.reach:q} --queries {input.queries:q} --output {output.judgements:q}"
        " --tally {output.tally:q} 2>&1 | tee {log:q}"


rule score_systems:
    """How judges score what each system puts first: means by aspect, coverage, tests."""
    input:
        runs=[str(run.path(f"{RESULTS}/runs")) for run in runs(of_query_sets(study.cross, JUDGED_SETS))],
        queries=judged(JUDGED_SETS),
        duplicates=expand(DUPLICATES, corpus=JUDGED_CORPORA),
        judgements=expand("{place}.parquet", place=JUDGEMENTS),
        tallies=expand("{place}.tally.csv", place=JUDGEMENTS),
        rubrics=sorted(set(RUBRICS.values())),
        code=code("score_systems"),
    output:
        per_query=f"{RESULTS}/judged_per_query.parquet",
        means=report(
            f"{TABLES}/thematic_means.csv",
            caption="../report/thematic_means_table.rst",
            category="Tables",
            subcategory="Judgements",
        ),
        contrasts=f"{TABLES}/thematic_contrasts.csv",
        coverage=f"{TABLES}/pool_coverage.csv",
        judging=f"{TABLES}/judging.csv",
    log:
        f"{RESULTS}/logs/score_systems.log",
    benchmark:
        f"{RESULTS}/benchmarks/score_systems.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        cross=canonical(of_query_sets(study.cross, JUDGED_SETS)),
        query_sets=JUDGED_SETS,
        judges=canonical(RUBRICS),
        depth=study.judging.get("depth"),
        lexical=study.lexical,
        fusions=FUSIONS,
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Scoring systems by what judges say"
    shell:
        "python -m verseir score_systems --results {params.results:q} --cross {params.cross:q}"
        " --query-sets {params.query_sets:q} --depth {params.depth} --judges {params.judges:q}"
        " --judgements {input.judgements:q} --tallies {input.tallies:q} --duplicates {input.duplicates:q}"
        " --lexical {params.lexical:q} --fusions {params.fusions:q} --resamples {params.resamples}"
        " --flips {params.flips} --seed {params.seed} --per-query {output.per_query:q} --means {output.means:q}"
        " --contrasts {output.contrasts:q} --coverage {output.coverage:q} --judging {output.judging:q}"
        " 2>&1 | tee {log:q}"


rule compare_judges:
    """Whether judges agree, and whether the order of systems hangs on the judge or on the rubric."""
    input:
        judgements=expand("{place}.parquet", place=JUDGEMENTS),
        per_query=rules.score_systems.output.per_query,
        queries=judged(JUDGED_SETS),
        rubrics=sorted(set(RUBRICS.values())),
        code=code("compare_judges"),
    output:
        agreement=f"{TABLES}/judge_agreement.csv",
        orders=f"{TABLES}/judge_orders.csv",
    log:
        f"{RESULTS}/logs/compare_judges.log",
    benchmark:
        f"{RESULTS}/benchmarks/compare_judges.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=JUDGED_SETS,
        judges=canonical(RUBRICS),
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Comparing judges"
    shell:
        "python -m verseir compare_judges --results {params.results:q} --query-sets {params.query_sets:q}"
        " --judges {params.judges:q} --judgements {input.judgements:q}"
        " --per-query {input.per_query:q} --resamples {params.resamples} --flips {params.flips}"
        " --seed {params.seed} --agreement {output.agreement:q} --orders {output.orders:q} 2>&1 | tee {log:q}"
