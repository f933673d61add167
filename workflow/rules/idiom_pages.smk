# What people see of an idiom benchmark: tables of a paper, and figures.

from verseir.report.spoken import idiom_sets

# Those that are searched, by how their queries are read.
IDIOM_SETS = idiom_sets(study.spec)
IDIOM_PAPER, IDIOM_FIGURES = [], []

if IDIOM_SETS:
    IDIOM_FOLDER, IDIOM_DRAWN = f"{RESULTS}/paper", f"{RESULTS}/figures/idioms"
    SUBJECTS, CONFUSION, STRING_MATCH, IDIOM_DATA, IDIOM_OVERLAP = IDIOM_TABLES
    IDIOM_BASE = study.analyses["base_mode"]
    IDIOM_PAPER = [
        f"{IDIOM_FOLDER}/table-idioms-{name}.{suffix}"
        for name in (
            "zero-shot",
            *(f"{kind}-{query_set}" for kind in ("variants", "ablation") for query_set in IDIOM_SETS),
            "overlap",
            "data",
        )
        for suffix in ("csv", "tex")
    ]

    rule typeset_idioms:
        """The tables of a paper about an idiom benchmark, ready to paste: CSV and LaTeX."""
        input:
            leaderboard=rules.make_leaderboard.output.leaderboard,
            strata=STRATA_TABLE,
            subjects=SUBJECTS,
            string_match=STRING_MATCH,
            overlap=IDIOM_OVERLAP,
            data=IDIOM_DATA,
            code=code("typeset_idioms"),
        output:
            IDIOM_PAPER,
        log:
            f"{RESULTS}/logs/typeset_idioms.log",
        benchmark:
            f"{RESULTS}/benchmarks/typeset_idioms.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            strata=["--strata", *STRATA_TABLE] if STRATA_TABLE else [],
            query_sets=canonical(IDIOM_SETS),
            modes=sorted({run.mode for run in IDIOM_RUNS}, key=lambda mode: (mode != IDIOM_BASE, mode)),
            base_mode=IDIOM_BASE,
            measures=study.spec["measures"],
            systems=study.shown_systems,
            folder=IDIOM_FOLDER,
        message:
            "Typesetting tables of the idiom benchmark"
        shell:
            "python -m verseir typeset_idioms --leaderboard {input.leaderboard:q} {params.strata:q}"
            " --subjects {input.subjects:q} --string-match {input.string_match:q} --overlap {input.overlap:q}"
            " --data {input.data:q} --query-sets {params.query_sets:q} --modes {params.modes:q}"
            " --base-mode {params.base_mode:q} --measures {params.measures:q} --systems {params.systems:q}"
            " --output {params.folder:q} 2>&1 | tee {log:q}"

    rule plot_idioms:
        """Systems of an idiom benchmark, the best of them by query set, and what stands in the top R."""
        input:
            leaderboard=rules.make_leaderboard.output.leaderboard,
            string_match=STRING_MATCH,
            confusion=CONFUSION,
            code=code("plot_idioms"),
        output:
            report(f"{IDIOM_DRAWN}-systems.svg", caption="../report/idioms_systems.rst", category="Figures"),
            report(f"{IDIOM_DRAWN}-modes.svg", caption="../report/idioms_modes.rst", category="Figures"),
            report(f"{IDIOM_DRAWN}-confusion.svg", caption="../report/idioms_confusion.rst", category="Figures"),
            systems=multiext(f"{IDIOM_DRAWN}-systems", ".pdf", ".png"),
            modes=multiext(f"{IDIOM_DRAWN}-modes", ".pdf", ".png"),
            confusion=multiext(f"{IDIOM_DRAWN}-confusion", ".pdf", ".png"),
        log:
            f"{RESULTS}/logs/plot_idioms.log",
        benchmark:
            f"{RESULTS}/benchmarks/plot_idioms.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            query_sets=canonical(IDIOM_SETS),
            base_mode=IDIOM_BASE,
            measures=canonical(MAIN),
            systems=study.shown_systems,
        message:
            "Plotting the idiom benchmark"
        shell:
            "python -m verseir plot_idioms --leaderboard {input.leaderboard:q} --string-match {input.string_match:q}"
            " --confusion {input.confusion:q} --query-sets {params.query_sets:q} --base-mode {params.base_mode:q}"
            " --measures {params.measures:q} --systems {params.systems:q}"
            " --output-systems {output[0]:q} {output.systems:q} --output-modes {output[1]:q} {output.modes:q}"
            " --output-confusion {output[2]:q} {output.confusion:q} 2>&1 | tee {log:q}"

    IDIOM_FIGURES = list(rules.plot_idioms.output[:3])
