# What queries share with each of the many poems that are judged for them, across languages, and what being found hangs on.

from verseir.report.spoken import shared_mode, shared_sets

SHARED_SETS = shared_sets(study.spec)
SHARED_CROSS = of_query_sets(study.cross, SHARED_SETS)
SHARED = overlap_files("shared", SHARED_SETS)
# The tables of tests, all tables, and the figures of this part: none where no such set is searched.
LANGUAGE_TESTS = [f"{TABLES}/found_by_wording.csv", f"{TABLES}/found_model.csv"] if SHARED_SETS else []
LANGUAGE_TABLES = [f"{TABLES}/shared_wording.csv", f"{TABLES}/found_by_language.csv"] if SHARED_SETS else []
LANGUAGE_FIGURES = [f"{RESULTS}/figures/languages.svg"] if SHARED_SETS else []


if SHARED_SETS:

    rule measure_shared:
        """Words that each query of one set shares with each poem that is judged for it, and nearness of vectors."""
        input:
            poems=rules.ingest_corpus.output.poems,
            explanations=lambda w: explanations_of(w.corpus, [shared_mode(study.spec, w.corpus)]),
            chunks=lambda w: f"{RESULTS}/corpora/{w.corpus}/chunks/{shared_mode(study.spec, w.corpus)}.parquet",
            queries=QUERIES,
            qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
            encoding=[f"{RESULTS}/encodings/{{corpus}}/{REFERENCE}.json"] if REFERENCE else [],
            code=code("measure_shared"),
        output:
            f"{OVERLAP}/shared/{{query_set}}.parquet",
        log:
            f"{RESULTS}/logs/measure_shared/{{corpus}}/{{query_set}}.log",
        benchmark:
            f"{RESULTS}/benchmarks/measure_shared/{{corpus}}/{{query_set}}.tsv"
        wildcard_constraints:
            query_set=one_of(SHARED_SETS),
        conda:
            "../../envs/encoders.yaml"
        params:
            mode=lambda w: shared_mode(study.spec, w.corpus),
            fields=lambda w: canonical(MODES[shared_mode(study.spec, w.corpus)]),
            tokens=study.analyses["tokens"],
            entry=lambda w: system_entry(REFERENCE) if REFERENCE else "null",
            reading=lambda w: canonical(study.encoding_of(w.query_set)),
        message:
            "Measuring what {wildcards.query_set} shares with its judged poems in {wildcards.corpus}"
        shell:
            "python -m verseir measure_shared --corpus {wildcards.corpus:q} --poems {input.poems:q}"
            " --explanations {input.explanations:q} --mode {params.mode:q} --fields {params.fields:q}"
            " --chunks {input.chunks:q} --queries {input.queries:q} --qrels {input.qrels:q} --tokens {params.tokens}"
            " --entry {params.entry:q} --encoding {input.encoding:q} --query-encoding {params.reading:q}"
            " --output {output:q} 2>&1 | tee {log:q}"

    rule summarise_shared:
        """How much queries share with the poems that are judged for them, by language and grade."""
        input:
            judged=judged(SHARED_SETS),
            shared=SHARED,
            code=code("summarise_shared"),
        output:
            LANGUAGE_TABLES[0],
        log:
            f"{RESULTS}/logs/summarise_shared.log",
        benchmark:
            f"{RESULTS}/benchmarks/summarise_shared.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            query_sets=SHARED_SETS,
            resamples=study.spec["bootstrap"],
            seed=study.spec["seed"],
        message:
            "Summarising what queries share with their judged poems"
        shell:
            "python -m verseir summarise_shared --results {params.results:q} --query-sets {params.query_sets:q}"
            " --shared {input.shared:q} --resamples {params.resamples} --seed {params.seed} --output {output:q}"
            " 2>&1 | tee {log:q}"

    rule relate_wording:
        """Whether finding relevant poems hangs on the language of the poem and on shared words, by system."""
        input:
            per_query=rules.evaluate_runs.output,
            runs=[str(run.path(f"{RESULTS}/runs")) for run in runs(SHARED_CROSS)],
            judged=judged(SHARED_SETS),
            poems=poems_of(SHARED_SETS),
            chunks=kept_chunks(SHARED_CROSS),
            within=[f"{RESULTS}/queries/{name}.attributes.parquet" for name in SHARED_SETS if study.within(name)],
            attributes=[
                f"{RESULTS}/corpora/{corpus}/attributes.parquet"
                for corpus, name in study.searched_places(SHARED_SETS)
                if study.within(name)
            ],
            shared=SHARED,
            code=code("relate_wording"),
        output:
            by_language=LANGUAGE_TABLES[1],
            by_wording=LANGUAGE_TESTS[0],
            models=LANGUAGE_TESTS[1],
        log:
            f"{RESULTS}/logs/relate_wording.log",
        benchmark:
            f"{RESULTS}/benchmarks/relate_wording.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            results=RESULTS,
            cross=canonical(SHARED_CROSS),
            measures=canonical({name: MAIN[name] for name in SHARED_SETS}),
            lexical=study.lexical,
            fusions=FUSIONS,
            resamples=study.spec["bootstrap"],
            flips=study.spec["flips"],
            seed=study.spec["seed"],
        message:
            "Relating what is found to languages and shared words"
        shell:
            "python -m verseir relate_wording --results {params.results:q} --cross {params.cross:q}"
            " --measures {params.measures:q} --shared {input.shared:q} --lexical {params.lexical:q}"
            " --fusions {params.fusions:q} --resamples {params.resamples} --flips {params.flips} --seed {params.seed}"
            " --by-language {output.by_language:q} --by-wording {output.by_wording:q}"
            " --models {output.models:q} 2>&1 | tee {log:q}"

    rule plot_languages:
        """The relevant poems of each language that each system finds."""
        input:
            found=LANGUAGE_TABLES[1],
            code=code("plot_languages"),
        output:
            report(LANGUAGE_FIGURES[0], caption="../report/languages.rst", category="Figures"),
            multiext(f"{RESULTS}/figures/languages", ".pdf", ".png"),
        log:
            f"{RESULTS}/logs/plot_languages.log",
        benchmark:
            f"{RESULTS}/benchmarks/plot_languages.tsv"
        conda:
            "../../envs/core.yaml"
        params:
            base_mode=study.analyses["base_mode"],
        message:
            "Plotting what is found in each language"
        shell:
            "python -m verseir plot_languages --found {input.found:q} --base-mode {params.base_mode:q} --output {output:q}"
            " 2>&1 | tee {log:q}"
