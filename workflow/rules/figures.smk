# Figures of the analyses.


rule plot_spectrum:
    """What queries carry of their poems: words in a row, and shared words."""
    input:
        spectrum=rules.summarise_overlap.output,
        code=code("plot_spectrum"),
    output:
        report(f"{RESULTS}/figures/spectrum.svg", caption="../report/spectrum.rst", category="Figures"),
        multiext(f"{RESULTS}/figures/spectrum", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/plot_spectrum.log",
    benchmark:
        f"{RESULTS}/benchmarks/plot_spectrum.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        threshold=study.analyses["quoting"],
        edited=EDITED,
    message:
        "Plotting what queries carry of their poems"
    shell:
        "python -m verseir plot_spectrum --spectrum {input.spectrum:q} --threshold {params.threshold} --edited {params.edited:q}"
        " --output {output:q} 2>&1 | tee {log:q}"


rule plot_quotation:
    """Each system on queries that quote and on queries that do not."""
    input:
        means=rules.stratify_quotation.output.means,
        slopes=rules.stratify_quotation.output.slopes,
        code=code("plot_quotation"),
    output:
        report(f"{RESULTS}/figures/quotation.svg", caption="../report/quotation.rst", category="Figures"),
        multiext(f"{RESULTS}/figures/quotation", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/plot_quotation.log",
    benchmark:
        f"{RESULTS}/benchmarks/plot_quotation.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        threshold=study.analyses["quoting"],
        base_mode=study.analyses["base_mode"],
        measures=canonical(SHOWN),
        systems=study.looked,
    message:
        "Plotting queries that quote against those that do not"
    shell:
        "python -m verseir plot_quotation --means {input.means:q} --slopes {input.slopes:q}"
        " --threshold {params.threshold:q} --base-mode {params.base_mode:q} --measures {params.measures:q}"
        " --systems {params.systems:q} --output {output:q} 2>&1 | tee {log:q}"


rule plot_edits:
    """What each edit of the wording changes, for each system."""
    input:
        edits=rules.compare_edits.output.edits,
        code=code("plot_edits"),
    output:
        report(f"{RESULTS}/figures/edits.svg", caption="../report/edits.rst", category="Figures"),
        multiext(f"{RESULTS}/figures/edits", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/plot_edits.log",
    benchmark:
        f"{RESULTS}/benchmarks/plot_edits.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        base_mode=study.analyses["base_mode"],
        measures=canonical(SHOWN),
        systems=study.looked,
    message:
        "Plotting what edits change"
    shell:
        "python -m verseir plot_edits --edits {input.edits:q} --base-mode {params.base_mode:q}"
        " --measures {params.measures:q} --systems {params.systems:q} --output {output:q} 2>&1 | tee {log:q}"


rule plot_mechanism:
    """Shared words against nearness of vectors as predictors of success."""
    input:
        mechanism=rules.relate_overlap.output.output,
        code=code("plot_mechanism"),
    output:
        report(f"{RESULTS}/figures/mechanism.svg", caption="../report/mechanism.rst", category="Figures"),
        multiext(f"{RESULTS}/figures/mechanism", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/plot_mechanism.log",
    benchmark:
        f"{RESULTS}/benchmarks/plot_mechanism.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        base_mode=study.analyses["base_mode"],
        measures=canonical(SHOWN),
        systems=study.looked,
    message:
        "Plotting what predicts success"
    shell:
        "python -m verseir plot_mechanism --mechanism {input.mechanism:q} --base-mode {params.base_mode:q}"
        " --measures {params.measures:q} --systems {params.systems:q} --output {output:q} 2>&1 | tee {log:q}"


rule plot_augmentation:
    """What indexing explanations changes, by register and system."""
    input:
        augmentation=rules.measure_augmentation.output.effects,
        code=code("plot_augmentation"),
    output:
        report(f"{RESULTS}/figures/augmentation.svg", caption="../report/augmentation.rst", category="Figures"),
        multiext(f"{RESULTS}/figures/augmentation", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/plot_augmentation.log",
    benchmark:
        f"{RESULTS}/benchmarks/plot_augmentation.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        measures=canonical(SHOWN),
        systems=study.looked,
    message:
        "Plotting what explanations change"
    shell:
        "python -m verseir plot_augmentation --augmentation {input.augmentation:q}"
        " --measures {params.measures:q} --systems {params.systems:q} --output {output:q} 2>&1 | tee {log:q}"


rule plot_fusions:
    """The best fusions, in-sample and cross-validated."""
    input:
        fusion=rules.search_fusions.output.output,
        code=code("plot_fusions"),
    output:
        report(f"{RESULTS}/figures/fusions.svg", caption="../report/fusions.rst", category="Figures"),
        multiext(f"{RESULTS}/figures/fusions", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/plot_fusions.log",
    benchmark:
        f"{RESULTS}/benchmarks/plot_fusions.tsv"
    conda:
        "../../envs/core.yaml"
    message:
        "Plotting the best fusions"
    shell:
        "python -m verseir plot_fusions --fusion {input.fusion:q} --output {output:q} 2>&1 | tee {log:q}"


rule plot_rankings:
    """The places of the systems under the two protocols."""
    input:
        dissociation=rules.relate_protocols.output.output,
        moves=rules.relate_protocols.output.moves,
        code=code("plot_rankings"),
    output:
        report(f"{RESULTS}/figures/rankings.svg", caption="../report/rankings.rst", category="Figures"),
        multiext(f"{RESULTS}/figures/rankings", ".pdf", ".png"),
    log:
        f"{RESULTS}/logs/plot_rankings.log",
    benchmark:
        f"{RESULTS}/benchmarks/plot_rankings.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        base_mode=study.analyses["base_mode"],
        lexical=study.lexical,
        systems=study.looked,
    message:
        "Plotting the two rankings"
    shell:
        "python -m verseir plot_rankings --dissociation {input.dissociation:q} --moves {input.moves:q}"
        " --base-mode {params.base_mode:q} --lexical {params.lexical:q} --systems {params.systems:q}"
        " --output {output:q} 2>&1 | tee {log:q}"


ANALYSIS_FIGURES = [
    rules.plot_spectrum.output[0],
    rules.plot_quotation.output[0],
    rules.plot_edits.output[0],
    rules.plot_mechanism.output[0],
    rules.plot_augmentation.output[0],
    rules.plot_fusions.output[0],
    rules.plot_rankings.output[0],
]
