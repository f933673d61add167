# What people say: blind sheets to judge on, and what they filled in.

SHEETS = study.judging.get("sheets", {})
POOL_FILE = "pool/{corpus}/{query_set}.parquet"
SPLIT_FILE = "queries/{query_set}.split.csv"
GRADED_SHEETS = [name for name in study.sheets("thematic", "known-item") if SHEETS[name]["files"]]


def sheet_cross(sheet):
    """The runs that a sheet is drawn from: its systems and modes, or all that may be the strongest."""
    given = SHEETS[sheet]
    named = given.get("systems", [given["system"]] if "system" in given else study.spec["systems"])
    cross = of_query_sets(study.cross_of(named), [given["query_set"]])
    wanted = given.get("modes", [given.get("mode")])
    modes = [mode for mode in cross["modes"][given["corpus"]] if mode in wanted]
    return cross | {
        "query_sets": {given["query_set"]: [given["corpus"]]},
        "modes": cross["modes"] | {given["corpus"]: modes},
    }


def is_part(sheet):
    """Whether a sheet has all of the pool of a part of its queries, and no draw from runs."""
    return "part" in SHEETS[sheet]


def sheet_runs(sheets):
    return sorted({str(run.path(f"{RESULTS}/runs")) for sheet in sheets for run in runs(sheet_cross(sheet))})


def sheet_options(sheet):
    """What a sheet of its kind needs to know, as options."""
    given = SHEETS[sheet]
    rubric = ["--rubric", given["rubric"]] if "rubric" in given else []
    if is_part(sheet):
        pool, split = (of_place(given, part) for part in (POOL_FILE, SPLIT_FILE))
        options = ["--part", given["part"], "--pool", pool, "--split", split]
    elif study.kind_of(given) == "thematic":
        options = ["--depth", given["depth"]]
    else:
        options = [
            "--mode",
            given["mode"],
            "--measure",
            given["measure"],
            "--per-query",
            f"{RESULTS}/per_query.parquet",
        ]
        options += ["--qrels", f"{RESULTS}/queries/{given['query_set']}.qrels.parquet"]
        options += ["--system", given["system"]] if "system" in given else []
    return [str(option) for option in options + rubric + (["--n", given["n"]] if "n" in given else [])]


def of_place(given, part):
    """A file of the corpus and query set of a sheet."""
    return f"{RESULTS}/{part}".format(corpus=given["corpus"], query_set=given.get("query_set"))


def sheet_reach(sheet, listed):
    """``listed`` (files or options) of what a query of a thematic sheet can find; a part of a pool has it from there."""
    given = SHEETS[sheet]
    drawn = study.kind_of(given) == "thematic" and not is_part(sheet)
    return listed(given["corpus"], given["query_set"]) if drawn else []


def of_sheet(wildcards, part):
    return of_place(SHEETS[wildcards.sheet], part)


def rubrics_of(sheets):
    return sorted({SHEETS[sheet]["rubric"] for sheet in sheets if "rubric" in SHEETS[sheet]})


def page_files(name):
    """The template of a page that people fill in, with its scripts and its style."""
    return [project_file(f"workflow/report/{file}") for file in (f"{name}.html", f"{name}.js", "table.js", "sheet.css")]


rule draw_sheet:
    """A blind sheet for people: which items it has, a table, and a page that works without a network."""
    input:
        runs=lambda w: [] if is_part(w.sheet) else sheet_runs([w.sheet]),
        part=lambda w: [of_sheet(w, part) for part in (POOL_FILE, SPLIT_FILE)] if is_part(w.sheet) else [],
        rubric=lambda w: rubrics_of([w.sheet]),
        per_query=lambda w: rules.evaluate_runs.output if w.sheet in study.sheets("known-item") else [],
        queries=lambda w: of_sheet(w, "queries/{query_set}.parquet"),
        qrels=lambda w: of_sheet(w, "queries/{query_set}.qrels.parquet"),
        poems=lambda w: of_sheet(w, "corpora/{corpus}/poems.parquet"),
        duplicates=lambda w: of_sheet(w, "corpora/{corpus}/duplicates.csv"),
        guidelines=lambda w: SHEETS[w.sheet]["guidelines"],
        reach=lambda w: sheet_reach(w.sheet, reach_files),
        code=code("draw_sheet"),
        template=page_files("sheet"),
    output:
        drawn=f"{RESULTS}/sheets/{{sheet}}/items.parquet",
        csv=f"{RESULTS}/sheets/{{sheet}}/sheet.csv",
        html=f"{RESULTS}/sheets/{{sheet}}/sheet.html",
    log:
        f"{RESULTS}/logs/draw_sheet/{{sheet}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_sheet/{{sheet}}.tsv"
    wildcard_constraints:
        sheet=one_of(study.sheets("thematic", "known-item")),
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        kind=lambda w: study.kind_of(SHEETS[w.sheet]),
        corpus=lambda w: SHEETS[w.sheet]["corpus"],
        query_set=lambda w: SHEETS[w.sheet]["query_set"],
        cross=lambda w: canonical(sheet_cross(w.sheet)),
        options=lambda w: sheet_options(w.sheet),
        reach=lambda w: sheet_reach(w.sheet, reach_options),
        verses=study.judging.get("verses"),
        seed=study.spec["seed"],
    message:
        "Drawing the sheet {wildcards.sheet}"
    shell:
        "python -m verseir draw_sheet --sheet {wildcards.sheet:q} --kind {params.kind} --corpus {params.corpus:q}"
        " --query-set {params.query_set:q} --results {params.results:q} --cross {params.cross:q}"
        " --queries {input.queries:q} --poems {input.poems:q} --duplicates {input.duplicates:q} {params.options:q}"
        " {params.reach:q}"
        " --verses {params.verses} --seed {params.seed} --guidelines {input.guidelines:q}"
        " --template {input.template[0]:q} --items {output.drawn:q} --csv {output.csv:q} --html {output.html:q}"
        " 2>&1 | tee {log:q}"


rule draw_audit:
    """A sheet of explanations to audit: a table, and a page that works without a network."""
    input:
        poems=lambda w: of_sheet(w, "corpora/{corpus}/poems.parquet"),
        explanations=lambda w: audited_explanations(w.sheet),
        guidelines=lambda w: SHEETS[w.sheet]["guidelines"],
        code=code("draw_audit"),
        template=page_files("sheet"),
    output:
        csv=f"{RESULTS}/sheets/{{sheet}}/audit.csv",
        html=f"{RESULTS}/sheets/{{sheet}}/audit.html",
    log:
        f"{RESULTS}/logs/draw_audit/{{sheet}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_audit/{{sheet}}.tsv"
    wildcard_constraints:
        sheet=one_of(study.sheets("explanations")),
    conda:
        "../../envs/core.yaml"
    params:
        corpus=lambda w: SHEETS[w.sheet]["corpus"],
        source=lambda w: SHEETS[w.sheet]["explanations"],
        n=lambda w: SHEETS[w.sheet]["n"],
        seed=study.spec["seed"],
    message:
        "Drawing the sheet {wildcards.sheet}"
    shell:
        "python -m verseir draw_audit --corpus {params.corpus:q} --source {params.source:q} --poems {input.poems:q}"
        " --explanations {input.explanations:q} --n {params.n} --seed {params.seed} --guidelines {input.guidelines:q}"
        " --template {input.template[0]:q} --csv {output.csv:q} --html {output.html:q} 2>&1 | tee {log:q}"


rule import_annotations:
    """The grades that people gave on a sheet."""
    input:
        drawn=rules.draw_sheet.output.drawn,
        pool=lambda w: of_sheet(w, POOL_FILE) if w.sheet in study.sheets("thematic") else [],
        queries=lambda w: of_sheet(w, "queries/{query_set}.parquet"),
        poems=lambda w: of_sheet(w, "corpora/{corpus}/poems.parquet"),
        files=lambda w: SHEETS[w.sheet]["files"],
        rubric=lambda w: rubrics_of([w.sheet]),
        code=code("import_annotations"),
    output:
        f"{RESULTS}/annotations/{{sheet}}.parquet",
    log:
        f"{RESULTS}/logs/import_annotations/{{sheet}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/import_annotations/{{sheet}}.tsv"
    wildcard_constraints:
        sheet=one_of(GRADED_SHEETS),
    conda:
        "../../envs/core.yaml"
    params:
        corpus=lambda w: SHEETS[w.sheet]["corpus"],
        query_set=lambda w: SHEETS[w.sheet]["query_set"],
        options=lambda w: ["--rubric", *rubric] if (rubric := rubrics_of([w.sheet])) else [],
    message:
        "Reading what people filled in on {wildcards.sheet}"
    shell:
        "python -m verseir import_annotations --sheet {wildcards.sheet:q} --corpus {params.corpus:q}"
        " --query-set {params.query_set:q} --items {input.drawn:q} {input.pool:q} --queries {input.queries:q}"
        " --poems {input.poems:q} --files {input.files:q} {params.options:q} --output {output:q} 2>&1 | tee {log:q}"


rule compare_annotators:
    """How people agree with each other and with judges, which systems they prefer, and which misses they accept."""
    input:
        annotations=expand(f"{RESULTS}/annotations/{{sheet}}.parquet", sheet=GRADED_SHEETS),
        runs=sheet_runs(GRADED_SHEETS),
        per_query=rules.evaluate_runs.output,
        queries=judged(sorted({SHEETS[sheet]["query_set"] for sheet in GRADED_SHEETS})),
        duplicates=expand(DUPLICATES, corpus=sorted({SHEETS[sheet]["corpus"] for sheet in GRADED_SHEETS})),
        judgements=expand("{place}.parquet", place=JUDGEMENTS),
        rubrics=sorted({*RUBRICS.values(), *rubrics_of(GRADED_SHEETS)}),
        code=code("compare_annotators"),
    output:
        agreement=f"{TABLES}/annotator_agreement.csv",
        human_judge=f"{TABLES}/human_judge.csv",
        contrasts=f"{TABLES}/annotator_contrasts.csv",
        acceptability=f"{TABLES}/acceptability.csv",
    log:
        f"{RESULTS}/logs/compare_annotators.log",
    benchmark:
        f"{RESULTS}/benchmarks/compare_annotators.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        cross=CROSS,
        sheets=canonical({name: SHEETS[name] | {"kind": study.kind_of(SHEETS[name])} for name in GRADED_SHEETS}),
        query_sets=sorted({SHEETS[sheet]["query_set"] for sheet in GRADED_SHEETS}),
        judges=canonical(RUBRICS),
        lexical=study.lexical,
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Comparing people with each other and with judges"
    shell:
        "python -m verseir compare_annotators --results {params.results:q} --cross {params.cross:q}"
        " --sheets {params.sheets:q} --annotations {input.annotations:q} --per-query {input.per_query:q}"
        " --query-sets {params.query_sets:q} --duplicates {input.duplicates:q} --judgements {input.judgements:q}"
        " --judges {params.judges:q} --lexical {params.lexical:q} --resamples {params.resamples}"
        " --flips {params.flips} --seed {params.seed} --agreement {output.agreement:q}"
        " --human-judge {output.human_judge:q} --contrasts {output.contrasts:q}"
        " --acceptability {output.acceptability:q} 2>&1 | tee {log:q}"


def audited_explanations(sheet):
    """The explanations of a corpus among which those to audit are."""
    given = SHEETS[sheet]
    folder = f"{RESULTS}/corpora/{given['corpus']}"
    written = given["explanations"] in study.written[given["corpus"]]
    return [
        f"{folder}/explanations.parquet",
        *([f"{folder}/written/{given['explanations']}.parquet"] if written else []),
    ]


# What people judge on, and every table of judges and people.
SHEET_PAGES = [
    *(f"{RESULTS}/pool/{corpus}/{query_set}.parquet" for corpus, query_set in study.judged_places),
    *expand(f"{RESULTS}/sheets/{{sheet}}/sheet.html", sheet=study.sheets("thematic", "known-item")),
    *expand(f"{RESULTS}/sheets/{{sheet}}/audit.html", sheet=study.sheets("explanations")),
]
JUDGED_TESTS = [
    rules.score_systems.output.contrasts,
    rules.compare_judges.output.orders,
    rules.compare_annotators.output.contrasts,
]
JUDGED_TABLES = [
    *JUDGED_TESTS,
    rules.score_systems.output.means,
    rules.score_systems.output.coverage,
    rules.score_systems.output.judging,
    rules.compare_judges.output.agreement,
    rules.compare_annotators.output.agreement,
    rules.compare_annotators.output.human_judge,
    rules.compare_annotators.output.acceptability,
]
