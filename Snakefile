# corpora x indexing modes x query sets x systems -> ranked lists -> measures -> tests -> tables, figures, a report
#
#   snakemake --cores 8 --resources gpu=1                                            the demo study
#   snakemake --cores 8 --resources gpu=1 --configfile config/studies/<study>.yaml   another study

from snakemake.utils import min_version

min_version("9.0")

# A study is complete in itself: the demo is read only when no study is given, so that nothing of it leaks into another.
if not workflow.configfiles and "study" not in config:

    configfile: "config/config.yaml"


include: "workflow/rules/study.smk"
include: "workflow/rules/ingest.smk"
include: "workflow/rules/index.smk"
include: "workflow/rules/search.smk"
include: "workflow/rules/fine_tune.smk"
include: "workflow/rules/overlap.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/wording.smk"
include: "workflow/rules/idioms.smk"
include: "workflow/rules/settings.smk"
include: "workflow/rules/languages.smk"
include: "workflow/rules/fine_tuned.smk"
include: "workflow/rules/check.smk"
include: "workflow/rules/deploy.smk"
include: "workflow/rules/judge.smk"
include: "workflow/rules/people.smk"
include: "workflow/rules/query_sheet.smk"
include: "workflow/rules/construct.smk"
include: "workflow/rules/publish.smk"
include: "workflow/rules/idiom_pages.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/exchange.smk"
include: "workflow/rules/package.smk"
include: "workflow/rules/plan.smk"


rule all:
    """Everything of the study: runs, tables, figures, the report and its manifest."""
    default_target: True
    input:
        rules.write_report.output,
        rules.write_manifest.output,
        rules.export_trec.output,
        rules.typeset_tables.output,
        IDIOM_PAPER,
        GRADED_PAPER,
        FINE_TUNING_PAPER,
        SHEET_PAGES,
        LABELS,
    message:
        "The study {study.name} is done: {input[0]}"


rule tables:
    """The tables only."""
    input:
        rules.make_leaderboard.output,
        rules.compare_systems.output,
        rules.report_ties.output,
        rules.collect_costs.output,
        ANALYSED,
        LABELS,
        rules.compare_published.output if PUBLISHED else [],
    message:
        "The tables of {study.name} are done: {TABLES}"


rule check:
    """Check every input of the study and run nothing else: the check comes before any job."""
    message:
        "All inputs of the study {study.name} are sound"
    shell:
        "true"
