# What the archive should deploy.

# Each corpus with the query sets that say what to deploy there.
DEPLOYED = {
    corpus: [name for name in study.query_sets_of(corpus) if name in {*KNOWN, *THEMATIC}] for corpus in study.corpora
}
# The modes of each whose indexes have a size that was measured: of imported runs nothing is known.
SIZED = {corpus: study.modes_of(corpus) for corpus, sets in DEPLOYED.items() if sets and study.systems("bm25", "dense")}


rule recommend_deployment:
    """What the archive should deploy: by register, for its mix of registers, and for themes."""
    input:
        per_query=rules.evaluate_runs.output,
        judged=judged([*KNOWN, *THEMATIC]),
        costs=rules.collect_costs.output.costs,
        chunks=[f"{RESULTS}/corpora/{corpus}/chunks/{mode}.parquet" for corpus in SIZED for mode in SIZED[corpus]],
        code=code("recommend_deployment"),
    output:
        f"{TABLES}/deployment.csv",
    log:
        f"{RESULTS}/logs/recommend_deployment.log",
    benchmark:
        f"{RESULTS}/benchmarks/recommend_deployment.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        results=RESULTS,
        searched=canonical(DEPLOYED),
        indexed=canonical(SIZED),
        fields=canonical(study.spec["modes"]),
        kinds=canonical(
            {name: {"kind": study.registry[name]["kind"], "arms": study.arms(name)} for name in study.systems()}
        ),
        # What no archive could deploy is left out: an encoder for each fold of the queries.
        systems=[name for name in study.shown_systems if study.registry[name]["kind"] != "folds"],
        kept=sorted(KEEP),
        known_item=KNOWN,
        thematic=THEMATIC,
        synthetic=[name for name in synthetic_sets(study.spec) if name in KNOWN],
        measures=canonical({name: MAIN[name] for name in [*KNOWN, *THEMATIC]}),
        mix=canonical(study.analyses["deployment"].get("mix")),
        baseline=canonical(study.deployed),
        margin=study.analyses["margin"],
        folds=study.analyses["fusion"]["folds"],
        resamples=study.spec["bootstrap"],
        flips=study.spec["flips"],
        seed=study.spec["seed"],
    message:
        "Choosing what to deploy"
    shell:
        "python -m verseir recommend_deployment --results {params.results:q} --costs {input.costs:q}"
        " --searched {params.searched:q} --indexed {params.indexed:q} --fields {params.fields:q} --kinds {params.kinds:q}"
        " --systems {params.systems:q} --kept {params.kept:q} --known-item {params.known_item:q}"
        " --thematic {params.thematic:q} --synthetic {params.synthetic:q} --measures {params.measures:q}"
        " --mix {params.mix:q} --baseline {params.baseline:q} --margin {params.margin} --folds {params.folds}"
        " --resamples {params.resamples} --flips {params.flips} --seed {params.seed} --output {output:q}"
        " 2>&1 | tee {log:q}"
