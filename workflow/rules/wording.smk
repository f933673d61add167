# What queries carry of their poems' wording, and what it changes.


rule summarise_overlap:
    """How much of their poems' wording the queries of each set and register carry."""
    input:
        judged=judged(WORDED),
        wording=overlap_files("wording", WORDED),
        indexed=overlap_files("indexed", WORDED),
        proximity=proximity_files(WORDED),
        code=code("summarise_overlap"),
    output:
        report(
            f"{TABLES}/overlap_spectrum.csv",
            caption="../report/overlap_spectrum_table.rst",
            category="Tables",
            subcategory="What results depend on",
        ),
    log:
        f"{RESULTS}/logs/summarise_overlap.log",
    benchmark:
        f"{RESULTS}/benchmarks/summarise_overlap.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=WORDED,
        thresholds=study.analyses["thresholds"],
        resamples=study.spec["bootstrap"],
        seed=study.spec["seed"],
    message:
        "Summarising what queries share with their poems"
    shell:
        "python -m verseir summarise_overlap --results {params.results:q} --query-sets {params.query_sets:q}"
        " --wording {input.wording:q} --indexed {input.indexed:q} --proximity {input.proximity:q}"
        " --thresholds {params.thresholds} --resamples {params.resamples} --seed {params.seed}"
        " --output {output:q} 2>&1 | tee {log:q}"


rule stratify_quotation:
    """Queries that quote their poem against those that do not: rates, slopes and differences of slopes."""
    input:
        per_query=rules.evaluate_runs.output,
        judged=judged(KNOWN),
        wording=overlap_files("wording", KNOWN),
        code=code("stratify_quotation"),
    output:
        means=report(
            f"{TABLES}/quotation.csv",
            caption="../report/quotation_table.rst",
            category="Tables",
            subcategory="What results depend on",
        ),
        slopes=f"{TABLES}/quotation_slopes.csv",
        pairs=f"{TABLES}/quotation_pairs.csv",
    log:
        f"{RESULTS}/logs/stratify_quotation.log",
    benchmark:
        f"{RESULTS}/benchmarks/stratify_quotation.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=KNOWN,
        thresholds=sorted({study.analyses["quoting"], *study.analyses["thresholds"]}),
        measures=study.analyses["measures"],
        lexical=study.lexical,
        fusions=FUSIONS,
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Comparing queries that quote with queries that do not"
    shell:
        "python -m verseir stratify_quotation --results {params.results:q} --query-sets {params.query_sets:q}"
        " --wording {input.wording:q} --thresholds {params.thresholds} --measures {params.measures:q}"
        " --lexical {params.lexical:q} --fusions {params.fusions:q} --resamples {params.resamples}"
        " --flips {params.flips} --seed {params.seed} --means {output.means:q} --slopes {output.slopes:q}"
        " --pairs {output.pairs:q} 2>&1 | tee {log:q}"


rule relate_overlap:
    """How well shared words, and nearness of vectors, predict which queries each system answers."""
    input:
        per_query=rules.evaluate_runs.output,
        judged=judged(KNOWN),
        indexed=overlap_files("indexed", KNOWN),
        proximity=proximity_files(KNOWN),
        code=code("relate_overlap"),
    output:
        output=report(
            f"{TABLES}/mechanism.csv",
            caption="../report/mechanism_table.rst",
            category="Tables",
            subcategory="What results depend on",
        ),
        summary=f"{TABLES}/mechanism_summary.csv",
    log:
        f"{RESULTS}/logs/relate_overlap.log",
    benchmark:
        f"{RESULTS}/benchmarks/relate_overlap.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=KNOWN,
        measures=study.analyses["measures"],
        base_mode=study.analyses["base_mode"],
        keep=lambda w: canonical(KEEP),
        lexical=study.lexical,
        fusions=FUSIONS,
        references=REFERENCES,
        resamples=study.spec["bootstrap"],
        seed=study.spec["seed"],
    message:
        "Relating success to shared words and to nearness"
    shell:
        "python -m verseir relate_overlap --results {params.results:q} --query-sets {params.query_sets:q}"
        " --indexed {input.indexed:q} --proximity {input.proximity:q} --measures {params.measures:q}"
        " --base-mode {params.base_mode:q} --keep {params.keep:q} --lexical {params.lexical:q}"
        " --fusions {params.fusions:q} --references {params.references:q} --resamples {params.resamples} --seed {params.seed}"
        " --output {output.output:q} --summary {output.summary:q} 2>&1 | tee {log:q}"
