# Queries that people write: a sheet of poems to write them for. Not part of `all`: `snakemake query_sheet` makes it.

from verseir.config import query_sheet as sheet_settings

QUERY_SHEET = sheet_settings(study)
WRITTEN = f"{RESULTS}/query_sheet"
# Themes have no one right poem: their table is apart.
THEMES = [f"{WRITTEN}/themes.csv"] if "thematic" in QUERY_SHEET["registers"] else []


# A study of several corpora has to name one before the sheet is made (see `onstart`).
SHEET_CORPUS = QUERY_SHEET.get("corpus", study.corpora[0])


rule draw_query_sheet:
    """Poems for people to write queries for: a page that works without a network, and the same as tables."""
    input:
        poems=f"{RESULTS}/corpora/{SHEET_CORPUS}/poems.parquet",
        duplicates=f"{RESULTS}/corpora/{SHEET_CORPUS}/duplicates.csv",
        guidelines=QUERY_SHEET["guidelines"],
        code=code("draw_query_sheet"),
        template=page_files("query_sheet"),
    output:
        csv=f"{WRITTEN}/queries.csv",
        themes=THEMES,
        html=f"{WRITTEN}/queries.html",
    log:
        f"{RESULTS}/logs/draw_query_sheet.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_query_sheet.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        corpus=SHEET_CORPUS,
        n=QUERY_SHEET["n"],
        registers=QUERY_SHEET["registers"],
        options=[
            *(["--strata", *QUERY_SHEET["strata"]] if QUERY_SHEET["strata"] else []),
            *(["--themes", *THEMES] if THEMES else []),
        ],
        verses=QUERY_SHEET["verses"],
        seed=QUERY_SHEET["seed"],
    message:
        "Drawing poems of {params.corpus} for people to write queries for"
    shell:
        "python -m verseir draw_query_sheet --corpus {params.corpus:q} --poems {input.poems:q}"
        " --duplicates {input.duplicates:q} --n {params.n} --registers {params.registers} {params.options:q}"
        " --verses {params.verses} --seed {params.seed} --guidelines {input.guidelines:q}"
        " --template {input.template[0]:q} --csv {output.csv:q} --html {output.html:q} 2>&1 | tee {log:q}"


rule query_sheet:
    """The sheet on which people write queries: results/<study>/query_sheet/queries.html, and queries.csv."""
    input:
        rules.draw_query_sheet.output,
    message:
        "The sheet is done: open {WRITTEN}/queries.html, or fill in {WRITTEN}/queries.csv"
