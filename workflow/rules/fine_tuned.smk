# What fine-tuning changes: gains over the base, tested, drawn and typeset.

FINE_TUNING_TESTS, FINE_TUNING_TABLES, FINE_TUNING_FIGURES, FINE_TUNING_PAPER = [], [], [], []

if RECIPES:
    FINE_TUNING_TESTS = [f"{TABLES}/fine_tuning.csv", f"{TABLES}/fine_tuning_registers.csv"]
    FINE_TUNING_TABLES = [f"{TABLES}/fine_tuning_seeds.csv", f"{TABLES}/fine_tuning_curves.csv"]
    FINE_TUNING_FIGURES = [f"{RESULTS}/figures/fine_tuning.svg"]
    FINE_TUNING_PAPER = [f"{RESULTS}/paper/table-fine-tuning.{suffix}" for suffix in ("csv", "tex")]

    def split_by(query_set):
        """The attributes by whose values gains are told apart: those of means, and how an idiom is used."""
        return sorted({*study.strata.get(query_set, []), *(["usage"] if query_set in study.idiom_sets else [])})

    TESTED_SETS = sorted({name for recipe in RECIPES.values() for name in recipe["test"]})
    SPLIT = {name: split_by(name) for name in TESTED_SETS}

    rule compare_fine_tuned:
        """Gains of trained encoders over their bases on the same queries, by seed and by group of queries."""
        input:
            per_query=rules.evaluate_runs.output,
            judged=judged(TESTED_SETS),
            attributes=[f"{RESULTS}/queries/{name}.attributes.parquet" for name in TESTED_SETS if SPLIT[name]],
            curves=[
                f"{RESULTS}/fine_tuned/{recipe}/{seed}/{fold}/curve.csv"
                for recipe in sorted(RECIPES)
                for seed in RECIPES[recipe]["seeds"]
                for fold in folds_of(RECIPES[recipe])
            ],
            code=code("compare_fine_tuned"),
        output:
            gains=FINE_TUNING_TESTS[0],
            registers=FINE_TUNING_TESTS[1],
            seeds=FINE_TUNING_TABLES[0],
            curves=FINE_TUNING_TABLES[1],
        log:
            f"{RESULTS}/logs/compare_fine_tuned.log",
        benchmark:
            f"{RESULTS}/benchmarks/compare_fine_tuned.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            recipes=canonical(
                {
                    recipe: {
                        "base": given["base"],
                        "systems": study.tuned_systems(recipe),
                        "query_sets": sorted(given["test"]),
                    }
                    for recipe, given in RECIPES.items()
                }
            ),
            groups=canonical(SPLIT),
            measures=study.spec["measures"],
            resamples=study.spec["bootstrap"],
            flips=study.spec["flips"],
            seed=study.spec["seed"],
        message:
            "Comparing trained encoders with their bases"
        shell:
            "python -m verseir compare_fine_tuned --results {params.results:q} --recipes {params.recipes:q}"
            " --groups {params.groups:q} --curves {input.curves:q} --measures {params.measures:q}"
            " --resamples {params.resamples} --flips {params.flips} --seed {params.seed}"
            " --gains {output.gains:q} --seeds {output.seeds:q} --registers {output.registers:q}"
            " --all-curves {output.curves:q} 2>&1 | tee {log:q}"

    rule plot_fine_tuning:
        """The course of each training on validation queries, and gains over the base by group of queries."""
        input:
            gains=FINE_TUNING_TESTS[0],
            curves=FINE_TUNING_TABLES[1],
            code=code("plot_fine_tuning"),
        output:
            report(
                f"{RESULTS}/figures/fine_tuning.svg",
                caption="../report/fine_tuning.rst",
                category="Figures",
            ),
            multiext(f"{RESULTS}/figures/fine_tuning", ".pdf", ".png"),
        log:
            f"{RESULTS}/logs/plot_fine_tuning.log",
        benchmark:
            f"{RESULTS}/benchmarks/plot_fine_tuning.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            base_mode=study.analyses["base_mode"],
            measures=canonical(SHOWN),
        message:
            "Plotting what fine-tuning changes"
        shell:
            "python -m verseir plot_fine_tuning --gains {input.gains:q} --curves {input.curves:q}"
            " --base-mode {params.base_mode:q} --measures {params.measures:q} --output {output:q} 2>&1 | tee {log:q}"

    rule typeset_fine_tuning:
        """The table of a paper about fine-tuning, ready to paste: CSV and LaTeX."""
        input:
            gains=FINE_TUNING_TESTS[0],
            code=code("typeset_fine_tuning"),
        output:
            FINE_TUNING_PAPER,
        log:
            f"{RESULTS}/logs/typeset_fine_tuning.log",
        benchmark:
            f"{RESULTS}/benchmarks/typeset_fine_tuning.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            measures=study.spec["measures"],
            folder=f"{RESULTS}/paper",
        message:
            "Typesetting the table of fine-tuning"
        shell:
            "python -m verseir typeset_fine_tuning --gains {input.gains:q} --measures {params.measures:q}"
            " --output {params.folder:q} 2>&1 | tee {log:q}"
