# What results depend on: one rule for each question. Everything here works from ranked lists, query sets and judgements.

KNOWN = study.query_sets_for("known-item")
EDITED = study.query_sets_for("edited")
THEMATIC = study.query_sets_for("thematic")
# The queries whose words are held against the poems'.
WORDED = study.query_sets_for("known-item", "thematic", "edited")
FUSIONS = [name for name in study.spec["systems"] if study.registry[name]["kind"] == "fusion"]
MAIN = main_measures(study.spec)
# The same of the tables of analyses, which hold some measures only.
SHOWN = analysed_measures(study.spec)
TABLES = f"{RESULTS}/tables"
# The systems whose own vectors measure how near a query is to its poem: their rows are set apart.
REFERENCES = [name for name in study.single_systems if REFERENCE and system_entry(name) == system_entry(REFERENCE)]


# Which poems the modes index that do not index all of a corpus: they are compared with modes of the same poems alone.
KEEP = study.spec["keep"]


def judged(query_sets):
    """The queries and judgements of query sets."""
    return expand(f"{RESULTS}/queries/{{query_set}}{{part}}.parquet", query_set=query_sets, part=["", ".qrels"])


def proximity_files(query_sets):
    return overlap_files("proximity", query_sets) if REFERENCE else []


def poems_of(query_sets):
    places = study.searched_places(query_sets)
    return sorted({f"{RESULTS}/corpora/{corpus}/poems.parquet" for corpus, _ in places})


SINGLE_CROSS = of_query_sets(study.cross_of(study.single_systems), [*KNOWN, *THEMATIC])


rule search_fusions:
    """The best fusion of runs, with and without a lexical arm, chosen by cross-validation."""
    input:
        # What a mode finds that indexes some poems only is no list of the same answers: it is not fused with others.
        runs=[str(run.path(f"{RESULTS}/runs")) for run in runs(SINGLE_CROSS) if run.mode not in KEEP],
        judged=judged([*KNOWN, *THEMATIC]),
        code=code("search_fusions"),
    output:
        output=report(
            f"{TABLES}/fusion.csv",
            caption="../report/fusion_table.rst",
            category="Tables",
            subcategory="What results depend on",
        ),
        contrasts=f"{TABLES}/fusion_contrasts.csv",
        subsets=f"{TABLES}/fusion_subsets.csv",
    log:
        f"{RESULTS}/logs/search_fusions.log",
    benchmark:
        f"{RESULTS}/benchmarks/search_fusions.tsv"
    conda:
        "../../envs/core.yaml"
    threads: 2
    params:
        results=RESULTS,
        cross=canonical(SINGLE_CROSS),
        measures=canonical({name: MAIN[name] for name in [*KNOWN, *THEMATIC]}),
        judged_later=sorted(set(JUDGED_LATER) - set(EDITED)),
        lexical=study.lexical,
        max_arms=study.analyses["fusion"]["max_arms"],
        k=study.analyses["fusion"]["k"],
        folds=study.analyses["fusion"]["folds"],
        depth=study.spec["depth"],
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Searching the best fusion"
    shell:
        "python -m verseir search_fusions --threads {threads} --results {params.results:q}"
        " --cross {params.cross:q} --measures {params.measures:q} --judged-later {params.judged_later:q}"
        " --lexical {params.lexical:q} --max-arms {params.max_arms} --k {params.k} --folds {params.folds}"
        " --depth {params.depth} --resamples {params.resamples} --flips {params.flips} --seed {params.seed}"
        " --output {output.output:q} --contrasts {output.contrasts:q} --subsets {output.subsets:q}"
        " 2>&1 | tee {log:q}"


rule fit_mixed_models:
    """Success on shared words, system and covariates: mixed-effects and marginal logistic regressions."""
    input:
        per_query=rules.evaluate_runs.output,
        judged=judged(KNOWN),
        wording=overlap_files("wording", KNOWN),
        proximity=proximity_files(KNOWN),
        code=code("fit_mixed_models"),
    output:
        terms=report(
            f"{TABLES}/mixed_model.csv",
            caption="../report/mixed_model_table.rst",
            category="Tables",
            subcategory="What results depend on",
        ),
        tests=f"{TABLES}/mixed_model_tests.csv",
        fits=f"{TABLES}/mixed_model_fit.csv",
        shares=f"{TABLES}/variance_shares.csv",
    log:
        f"{RESULTS}/logs/fit_mixed_models.log",
    benchmark:
        f"{RESULTS}/benchmarks/fit_mixed_models.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=KNOWN,
        success=study.analyses["success"],
        lexical=study.lexical,
        fusions=FUSIONS,
    message:
        "Fitting mixed-effects models"
    shell:
        "python -m verseir fit_mixed_models --results {params.results:q} --query-sets {params.query_sets:q}"
        " --wording {input.wording:q} --proximity {input.proximity:q} --success {params.success}"
        " --lexical {params.lexical:q} --fusions {params.fusions:q} --terms {output.terms:q}"
        " --tests {output.tests:q} --fits {output.fits:q} --shares {output.shares:q} 2>&1 | tee {log:q}"


rule relate_protocols:
    """Whether known-item and thematic query sets rank the systems alike."""
    input:
        per_query=rules.evaluate_runs.output,
        queries=judged([*KNOWN, *THEMATIC]),
        judged=[f"{RESULTS}/judged_per_query.parquet"] if study.judging else [],
        code=code("relate_protocols"),
    output:
        output=report(
            f"{TABLES}/dissociation.csv",
            caption="../report/dissociation_table.rst",
            category="Tables",
            subcategory="What results depend on",
        ),
        moves=f"{TABLES}/rank_moves.csv",
    log:
        f"{RESULTS}/logs/relate_protocols.log",
    benchmark:
        f"{RESULTS}/benchmarks/relate_protocols.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        judged=lambda w, input: ["--judged", *input.judged] if input.judged else [],
        known_item=KNOWN,
        thematic=THEMATIC,
        measures=canonical(MAIN),
        systems=study.single_systems,
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Relating the two protocols"
    shell:
        "python -m verseir relate_protocols --results {params.results:q} {params.judged:q}"
        " --known-item {params.known_item:q} --thematic {params.thematic:q} --measures {params.measures:q}"
        " --systems {params.systems:q} --resamples {params.resamples} --flips {params.flips}"
        " --seed {params.seed} --output {output.output:q} --moves {output.moves:q} 2>&1 | tee {log:q}"


rule measure_augmentation:
    """What indexing explanations does to each system and register."""
    input:
        per_query=rules.evaluate_runs.output,
        judged=judged([*KNOWN, *THEMATIC]),
        wording=overlap_files("wording", [*KNOWN, *THEMATIC]),
        code=code("measure_augmentation"),
    output:
        effects=report(
            f"{TABLES}/augmentation.csv",
            caption="../report/augmentation_table.rst",
            category="Tables",
            subcategory="What results depend on",
        ),
        by_quotation=f"{TABLES}/augmentation_by_quotation.csv",
    log:
        f"{RESULTS}/logs/measure_augmentation.log",
    benchmark:
        f"{RESULTS}/benchmarks/measure_augmentation.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=[*KNOWN, *THEMATIC],
        quoting=study.analyses["quoting"],
        base_mode=study.analyses["base_mode"],
        keep=lambda w: canonical(KEEP),
        measures=study.analyses["measures"],
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Measuring what explanations in the index do"
    shell:
        "python -m verseir measure_augmentation --results {params.results:q}"
        " --query-sets {params.query_sets:q} --wording {input.wording:q} --quoting {params.quoting}"
        " --base-mode {params.base_mode:q} --keep {params.keep:q} --measures {params.measures:q}"
        " --resamples {params.resamples} --flips {params.flips} --seed {params.seed} --effects {output.effects:q}"
        " --by-quotation {output.by_quotation:q} 2>&1 | tee {log:q}"


rule compare_edits:
    """The same queries with other wording: what each edit changes, for each system and between systems."""
    input:
        per_query=rules.evaluate_runs.output,
        judged=judged([*KNOWN, *THEMATIC, *EDITED]),
        wording=overlap_files("wording", [*KNOWN, *THEMATIC, *EDITED]),
        rejects=expand(f"{RESULTS}/queries/{{query_set}}.rejects.csv", query_set=edited_query_sets),
        code=code("compare_edits"),
    output:
        edits=report(
            f"{TABLES}/edits.csv",
            caption="../report/edits_table.rst",
            category="Tables",
            subcategory="What results depend on",
        ),
        lengths=f"{TABLES}/edit_lengths.csv",
    log:
        f"{RESULTS}/logs/compare_edits.log",
    benchmark:
        f"{RESULTS}/benchmarks/compare_edits.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=[*KNOWN, *THEMATIC, *EDITED],
        edited=canonical({name: study.spec["query_sets"][name].get("edit", {}).get("of") for name in EDITED}),
        measures=study.analyses["measures"],
        lexical=study.lexical,
        fusions=FUSIONS,
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Comparing edited queries with their originals"
    shell:
        "python -m verseir compare_edits --results {params.results:q} --query-sets {params.query_sets:q}"
        " --edited {params.edited:q} --rejects {input.rejects:q} --wording {input.wording:q}"
        " --measures {params.measures:q} --lexical {params.lexical:q} --fusions {params.fusions:q}"
        " --resamples {params.resamples} --flips {params.flips} --seed {params.seed} --edits {output.edits:q}"
        " --lengths {output.lengths:q} 2>&1 | tee {log:q}"


rule state_equivalence:
    """Which systems are level within the margin, which differ beyond it, and which cannot be told apart."""
    input:
        per_query=rules.evaluate_runs.output,
        judged=judged(WORDED),
        wording=overlap_files("wording", WORDED),
        code=code("state_equivalence"),
    output:
        report(
            f"{TABLES}/equivalence.csv",
            caption="../report/equivalence_table.rst",
            category="Tables",
            subcategory="Systems",
        ),
    log:
        f"{RESULTS}/logs/state_equivalence.log",
    benchmark:
        f"{RESULTS}/benchmarks/state_equivalence.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        query_sets=WORDED,
        quoting=study.analyses["quoting"],
        margin=study.analyses["margin"],
        measures=study.analyses["measures"],
        lexical=study.lexical,
        fusions=FUSIONS,
        resamples=study.spec["bootstrap"],
        seed=study.spec["seed"],
    message:
        "Stating which systems are level"
    shell:
        "python -m verseir state_equivalence --results {params.results:q} --query-sets {params.query_sets:q}"
        " --wording {input.wording:q} --quoting {params.quoting} --margin {params.margin}"
        " --measures {params.measures:q} --lexical {params.lexical:q} --fusions {params.fusions:q}"
        " --resamples {params.resamples} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule ablate_normalisation:
    """Every system under every normalisation of the text, against its own."""
    input:
        runs=[str(run.path(f"{RESULTS}/runs")) for run in runs(study.ablation_cross)],
        judged=judged(study.ablation_cross["query_sets"]),
        chunks=kept_chunks(study.ablation_cross),
        code=code("ablate_normalisation"),
    output:
        report(
            f"{TABLES}/normalisation.csv",
            caption="../report/normalisation_table.rst",
            category="Tables",
            subcategory="What results depend on",
        ),
    log:
        f"{RESULTS}/logs/ablate_normalisation.log",
    benchmark:
        f"{RESULTS}/benchmarks/ablate_normalisation.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        cross=canonical(study.ablation_cross),
        variants=canonical(study.variants),
        measures=study.analyses["measures"],
        judged_later=[name for name in JUDGED_LATER if name in study.ablation_cross["query_sets"]],
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Comparing normalisations of the text"
    shell:
        "python -m verseir ablate_normalisation --results {params.results:q} --cross {params.cross:q}"
        " --variants {params.variants:q} --measures {params.measures:q}"
        " --judged-later {params.judged_later:q} --resamples {params.resamples} --flips {params.flips}"
        " --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"
