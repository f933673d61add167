# What people and other programs read.


from verseir.report.spoken import graded_from

TREC = f"{RESULTS}/trec"


rule export_trec:
    """All runs and judgements as TREC files."""
    input:
        runs=RUNS,
        qrels=ALL_QRELS,
        chunks=kept_chunks(study.cross),
        code=code("export_trec"),
    output:
        runs=[str(run.path(f"{TREC}/runs", ".trec")) for run in runs(study.cross)],
        qrels=expand(f"{TREC}/qrels/{{query_set}}.qrels", query_set=study.query_sets),
        kept=sorted(
            {
                f"{TREC}/qrels/{run.mode}/{run.corpus}/{run.query_set}.qrels"
                for run in runs(study.cross)
                if run.mode in study.cross.get("kept", [])
            }
        ),
    log:
        f"{RESULTS}/logs/export_trec.log",
    benchmark:
        f"{RESULTS}/benchmarks/export_trec.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        cross=CROSS,
        results=RESULTS,
    message:
        "Exporting runs and judgements as TREC files"
    shell:
        "python -m verseir export_trec --results {params.results:q} --cross {params.cross:q} 2>&1 | tee {log:q}"


rule plot_registers:
    """System by register, with intervals."""
    input:
        registers=rules.make_leaderboard.output.registers,
        code=code("plot_registers"),
    output:
        report(
            f"{RESULTS}/figures/registers.svg",
            caption="../report/registers.rst",
            category="Figures",
        ),
        multiext(f"{RESULTS}/figures/registers", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/plot_registers.log",
    benchmark:
        f"{RESULTS}/benchmarks/plot_registers.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        measures=canonical(MAIN),
        edited=EDITED,
        systems=study.looked,
    message:
        "Plotting systems by register"
    shell:
        "python -m verseir plot_registers --registers {input.registers:q} --measures {params.measures:q}"
        " --edited {params.edited:q} --systems {params.systems:q} --output {output:q} 2>&1 | tee {log:q}"


# The systems of the study, the arms of its fusions, and the encoder by which nearness is measured.
NAMED = sorted({*study.systems(), *([REFERENCE] if REFERENCE else [])})


rule write_manifest:
    """Versions, commit, hashes, parameters, seeds, devices and costs of this study; its config beside it."""
    input:
        tables=[
            rules.make_leaderboard.output,
            rules.compare_systems.output,
            rules.report_ties.output,
            rules.collect_costs.output,
        ],
        analyses=[*ANALYSED, *(rules.compare_published.output if PUBLISHED else [])],
        files=lambda w: input_files(),
        encodings=rules.collect_costs.input.encodings,
        code=code("write_manifest"),
    output:
        manifest=f"{RESULTS}/manifest.json",
        config=f"{RESULTS}/config.yaml",
    log:
        f"{RESULTS}/logs/write_manifest.log",
    benchmark:
        f"{RESULTS}/benchmarks/write_manifest.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        # Functions, since their values may hold braces, which are no wildcards.
        study=lambda w: canonical(study.spec),
        systems=lambda w: canonical({name: study.registry[name] for name in NAMED}),
        results=RESULTS,
    message:
        "Writing the manifest"
    shell:
        "python -m verseir write_manifest --results {params.results:q} --study {params.study:q} --systems {params.systems:q}"
        " --inputs {params.results:q}/inputs.json --encodings {input.encodings:q}"
        " --analyses {input.analyses:q} --manifest {output.manifest:q} --config {output.config:q} 2>&1 | tee {log:q}"


# What is shown query by query: the systems that are compared, and the query sets that stand for themselves or are edited.
EXPLORED = of_query_sets(
    study.cross_of(study.shown_systems), [name for name in study.query_sets if name not in graded_from(study.spec)]
)
EXPLORED_CORPORA = sorted({run.corpus for run in runs(EXPLORED)})


PAGE_PARTS = sorted(
    path.relative_to(workflow.basedir) for path in Path(workflow.basedir, "workflow/report/page").iterdir()
)


rule collect_examples:
    """Single queries with what each system shows for them, for the explorer of the report: a sample where they are many."""
    input:
        runs=[str(run.path(f"{RESULTS}/runs")) for run in runs(EXPLORED)],
        judged=judged(EXPLORED["query_sets"]),
        poems=expand(f"{RESULTS}/corpora/{{corpus}}/poems.parquet", corpus=EXPLORED_CORPORA),
        explanations=[path for corpus in EXPLORED_CORPORA for path in explanations_of(corpus, study.modes_of(corpus))],
        code=code("collect_examples"),
    output:
        f"{RESULTS}/report/explorer.json",
    log:
        f"{RESULTS}/logs/collect_examples.log",
    benchmark:
        f"{RESULTS}/benchmarks/collect_examples.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        cross=lambda w: canonical(EXPLORED),
        modes=lambda w: canonical(MODES),
        chunks=lambda w: canonical(study.spec["chunks"]),
        explanations=lambda w: canonical(
            {corpus: explanations_of(corpus, study.modes_of(corpus)) for corpus in EXPLORED_CORPORA}
        ),
        tokens=study.analyses["tokens"],
        base_mode=study.analyses["base_mode"],
    message:
        "Collecting queries with what each system shows for them"
    shell:
        "python -m verseir collect_examples --results {params.results:q} --cross {params.cross:q} --modes {params.modes:q}"
        " --chunks {params.chunks:q} --explanations {params.explanations:q} --tokens {params.tokens}"
        " --base-mode {params.base_mode:q} --output {output:q} 2>&1 | tee {log:q}"


rule write_report:
    """The whole study in one page that opens from disk without a network."""
    input:
        leaderboard=rules.make_leaderboard.output.leaderboard,
        registers=rules.make_leaderboard.output.registers,
        contrasts=rules.compare_systems.output,
        ties=rules.report_ties.output,
        costs=rules.collect_costs.output.costs,
        encoding=rules.collect_costs.output.encoding,
        manifest=rules.write_manifest.output.manifest,
        analyses=[*ANALYSED, *(rules.compare_published.output if PUBLISHED else [])],
        figures=[
            rules.plot_registers.output[0],
            *ANALYSIS_FIGURES,
            *IDIOM_FIGURES,
            *LANGUAGE_FIGURES,
            *FINE_TUNING_FIGURES,
        ],
        audits=expand(f"{RESULTS}/corpora/{{corpus}}/audit.json", corpus=study.corpora),
        tuning=TUNED,
        labels=LABELS,
        per_query=rules.evaluate_runs.output,
        queries=ALL_QUERIES,
        qrels=ALL_QRELS,
        examples=rules.collect_examples.output,
        code=code("write_report"),
        template=project_file("workflow/report/page.html"),
        parts=[project_file(path) for path in PAGE_PARTS],
    output:
        f"{RESULTS}/report/index.html",
    log:
        f"{RESULTS}/logs/write_report.log",
    benchmark:
        f"{RESULTS}/benchmarks/write_report.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
    message:
        "Writing the report"
    shell:
        "python -m verseir write_report --results {params.results:q} --template {input.template:q}"
        " --tuning {input.tuning:q} --per-query {input.per_query:q} --queries {input.queries:q}"
        " --examples {input.examples:q} --output {output:q}"
        " 2>&1 | tee {log:q}"
