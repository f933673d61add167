# What is read and what is printed: corrections counted, printed figures beside computed ones, figures, tables for papers.

TESTS = [
    rules.compare_systems.output[0],
    rules.stratify_quotation.output.slopes,
    rules.stratify_quotation.output.pairs,
    rules.compare_edits.output.edits,
    rules.relate_overlap.output.output,
    rules.relate_overlap.output.summary,
    rules.measure_augmentation.output.effects,
    rules.measure_augmentation.output.by_quotation,
    rules.search_fusions.output.contrasts,
    rules.ablate_normalisation.output[0],
    rules.fit_mixed_models.output.terms,
    rules.fit_mixed_models.output.tests,
    rules.test_trends.output.era_trend,
    rules.test_trends.output.poet_frequency,
    rules.compare_gold_poems.output[0],
    rules.relate_protocols.output.output,
    rules.recommend_deployment.output[0],
    *SETTING_TABLE,
    *LANGUAGE_TESTS,
    *FINE_TUNING_TESTS,
    *(JUDGED_TESTS if study.judging else []),
]


rule count_corrections:
    """How many of all tests of the study remain significant after correction within their families."""
    input:
        tables=TESTS,
        code=code("count_corrections"),
    output:
        counts=report(
            f"{TABLES}/multiplicity.csv",
            caption="../report/multiplicity_table.rst",
            category="Tables",
            subcategory="Checks and costs",
        ),
        lost=f"{TABLES}/multiplicity_lost.csv",
        declared=f"{TABLES}/declared_families.csv",
    log:
        f"{RESULTS}/logs/count_corrections.log",
    benchmark:
        f"{RESULTS}/benchmarks/count_corrections.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        families=canonical(study.analyses["families"]),
    message:
        "Counting tests before and after correction"
    shell:
        "python -m verseir count_corrections --tables {input.tables:q} --families {params.families:q}"
        " --counts {output.counts:q} --lost {output.lost:q} --declared {output.declared:q} 2>&1 | tee {log:q}"


# Every table of the analyses, for what reads them all.
ANALYSED = [
    *TESTS[1:],
    rules.summarise_overlap.output[0],
    *rules.locate_spans.output,
    rules.stratify_quotation.output.means,
    rules.compare_edits.output.lengths,
    rules.search_fusions.output.output,
    rules.search_fusions.output.subsets,
    rules.fit_mixed_models.output.fits,
    rules.fit_mixed_models.output.shares,
    rules.fold_duplicates.output[0],
    rules.audit_explanations.output[0],
    rules.state_equivalence.output[0],
    rules.relate_protocols.output.moves,
    *STRATA_TABLE,
    *LANGUAGE_TABLES,
    *FINE_TUNING_TABLES,
    *IDIOM_TABLES,
    *GRADED_TABLE,
    *rules.count_corrections.output,
    *([table for table in JUDGED_TABLES if table not in JUDGED_TESTS] if study.judging else []),
]

PUBLISHED = study.analyses.get("published")


rule compare_published:
    """Printed figures beside the computed ones, with a verdict on each."""
    input:
        published=PUBLISHED["file"] if PUBLISHED else [],
        tables=[
            rules.make_leaderboard.output.leaderboard,
            rules.make_leaderboard.output.registers,
            rules.compare_systems.output[0],
            rules.report_ties.output[0],
            *ANALYSED,
        ],
        code=code("compare_published"),
    output:
        report(
            f"{TABLES}/published.csv",
            caption="../report/published_table.rst",
            category="Tables",
            subcategory="Checks and costs",
        ),
    log:
        f"{RESULTS}/logs/compare_published.log",
    benchmark:
        f"{RESULTS}/benchmarks/compare_published.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        names=canonical(PUBLISHED["names"] if PUBLISHED and "names" in PUBLISHED else {}),
        rebuilt="--rebuilt" if PUBLISHED and PUBLISHED["rebuilt"] else "",
    message:
        "Setting printed figures beside computed ones"
    shell:
        "python -m verseir compare_published --published {input.published:q} --names {params.names:q} {params.rebuilt}"
        " --tables {input.tables:q} --output {output:q} 2>&1 | tee {log:q}"


PAPER = [
    f"{RESULTS}/paper/table-{name}.{suffix}"
    for name in (
        "1-spectrum",
        "2-known-item",
        "3-edits",
        "4-mechanism",
        "5-thematic",
        "6-fusion",
        "7-thresholds",
        "8-measures",
        "9-aspects",
        "10-judges",
    )
    for suffix in ("csv", "tex")
]
PAPER.append(f"{RESULTS}/paper/all-tables.tex")


JUDGED_OPTIONS = ("--thematic-means", "--thematic-contrasts", "--judge-agreement", "--judge-orders")


rule typeset_tables:
    """The tables of a paper about this study, ready to paste: CSV and LaTeX."""
    input:
        leaderboard=rules.make_leaderboard.output.leaderboard,
        contrasts=rules.compare_systems.output,
        spectrum=rules.summarise_overlap.output,
        edits=rules.compare_edits.output.edits,
        mechanism=rules.relate_overlap.output.output,
        moves=rules.relate_protocols.output.moves,
        fusion=rules.search_fusions.output.output,
        fusion_contrasts=rules.search_fusions.output.contrasts,
        quotation=rules.stratify_quotation.output.means,
        slopes=rules.stratify_quotation.output.slopes,
        judged=(
            [
                rules.score_systems.output.means,
                rules.score_systems.output.contrasts,
                rules.compare_judges.output.agreement,
                rules.compare_judges.output.orders,
            ]
            if study.judging
            else []
        ),
        code=code("typeset_tables"),
    output:
        PAPER,
    log:
        f"{RESULTS}/logs/typeset_tables.log",
    benchmark:
        f"{RESULTS}/benchmarks/typeset_tables.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        main=canonical(MAIN),
        shown=canonical(SHOWN),
        measures=study.analyses["measures"],
        known_item=KNOWN,
        thematic=THEMATIC,
        lexical=study.lexical,
        base_mode=study.analyses["base_mode"],
        quoting=study.analyses["quoting"],
        # Tables that other rules typeset into the folder; those of idioms are named further below.
        also=lambda w: [
            Path(path).stem for path in [*GRADED_PAPER, *FINE_TUNING_PAPER, *IDIOM_PAPER] if path.endswith(".tex")
        ],
        judged=lambda w, input: [part for pair in zip(JUDGED_OPTIONS, input.judged) for part in pair],
        folder=f"{RESULTS}/paper",
    message:
        "Typesetting tables"
    shell:
        "python -m verseir typeset_tables --leaderboard {input.leaderboard:q} --contrasts {input.contrasts:q}"
        " --spectrum {input.spectrum:q} --edits {input.edits:q} --mechanism {input.mechanism:q} --moves {input.moves:q}"
        " --fusion {input.fusion:q} --fusion-contrasts {input.fusion_contrasts:q} --quotation {input.quotation:q}"
        " --slopes {input.slopes:q} {params.judged:q} --main-measures {params.main:q} --shown-measures {params.shown:q}"
        " --measures {params.measures:q} --known-item {params.known_item:q} --thematic {params.thematic:q}"
        " --lexical {params.lexical:q} --base-mode {params.base_mode:q} --threshold {params.quoting}"
        " --also {params.also:q} --output {params.folder:q} 2>&1 | tee {log:q}"
