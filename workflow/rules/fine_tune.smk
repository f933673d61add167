# Training encoders: folds, triplets, one run for each recipe, seed and fold, and one ranked list of all folds.

from verseir.fine_tuning import WHOLE, folds_of, training_of

RECIPES = study.fine_tuning
FOLDED = [name for name in RECIPES if "folds" in RECIPES[name]]
FINE_TUNED = f"{RESULTS}/fine_tuned/{{recipe}}"


def trained_on(recipe, *parts):
    """The queries that a recipe trains on, or other files of their set."""
    return [f"{RESULTS}/queries/{RECIPES[recipe]['train']['query_set']}{part}.parquet" for part in parts or [""]]


def duplicates_of(recipe):
    """The audit of copies in the corpus that a recipe trains on. Idioms have none: a sentence and the same without its
    idiom are no copies."""
    corpus = RECIPES[recipe]["train"]["corpus"]
    return [] if corpus in study.idiom_corpora else f"{RESULTS}/corpora/{corpus}/duplicates.csv"


def chunks_trained_on(recipe, part="train"):
    """The chunks that a recipe trains on, or is validated with."""
    place = RECIPES[recipe].get(part, RECIPES[recipe]["train"])
    return f"{RESULTS}/corpora/{place['corpus']}/chunks/{RECIPES[recipe]['mode']}.parquet"


def mined_runs(recipe):
    """What the systems that negatives are drawn from found, by their names."""
    place, mode = RECIPES[recipe]["train"], RECIPES[recipe]["mode"]
    folder = f"{RESULTS}/runs/{place['corpus']}/{mode}/{place['query_set']}"
    return {system: f"{folder}/{system}.parquet" for system in sorted(RECIPES[recipe]["negatives"]["systems"])}


def validated_with(recipe):
    """The query set that tells when to stop."""
    return RECIPES[recipe].get("validation", RECIPES[recipe]["train"])["query_set"]


def validated_within(recipe):
    """The attribute within which validation queries are searched, their corpus and their set."""
    place = RECIPES[recipe].get("validation", RECIPES[recipe]["train"])
    return study.within(place["query_set"]), place["corpus"], place["query_set"]


def idioms_trained_on(recipe):
    """The attributes of the documents, where their idiom and its usage count."""
    corpus = RECIPES[recipe]["train"]["corpus"]
    counts = RECIPES[recipe]["negatives"]["opposite"] or corpus in study.idiom_corpora
    return f"{RESULTS}/corpora/{corpus}/attributes.parquet" if counts else []


def held_out(recipe):
    """The judgements of the sets that test and validate a recipe in the corpus that it is trained on."""
    if recipe in FOLDED:
        return []
    corpus, validation = RECIPES[recipe]["train"]["corpus"], RECIPES[recipe]["validation"]
    sets = [name for name in RECIPES[recipe]["test"] if corpus in study.spec["query_sets"][name]["corpora"]]
    sets += [validation["query_set"]] if validation["corpus"] == corpus else []
    return [f"{RESULTS}/queries/{name}.qrels.parquet" for name in sorted(set(sets))]


def folds_file(recipe):
    """Which fold each query of a recipe is in."""
    return f"{RESULTS}/fine_tuned/{recipe}/folds.parquet" if recipe in FOLDED else []


rule part_folds:
    """Part the queries of a recipe into folds, so that no poem is trained on in one and asked for in another."""
    input:
        queries=lambda w: trained_on(w.recipe),
        qrels=lambda w: trained_on(w.recipe, ".qrels"),
        duplicates=lambda w: duplicates_of(w.recipe),
        code=code("part_folds"),
    output:
        f"{FINE_TUNED}/folds.parquet",
    log:
        f"{RESULTS}/logs/part_folds/{{recipe}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/part_folds/{{recipe}}.tsv"
    wildcard_constraints:
        recipe=one_of(FOLDED),
    conda:
        "../../envs/core.yaml"
    params:
        duplicates=lambda w, input: f"--duplicates {input.duplicates}" if input.duplicates else "",
        folds=lambda w: RECIPES[w.recipe]["folds"],
        seed=study.spec["seed"],
    message:
        "Parting the queries of {wildcards.recipe} into folds"
    shell:
        "python -m verseir part_folds --queries {input.queries:q} --qrels {input.qrels:q} {params.duplicates}"
        " --folds {params.folds} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule mine_triplets:
    """For each training query a relevant poem and hard negatives: of its idiom, found by systems, and at random."""
    input:
        queries=lambda w: trained_on(w.recipe),
        qrels=lambda w: trained_on(w.recipe, ".qrels"),
        chunks=lambda w: chunks_trained_on(w.recipe),
        duplicates=lambda w: duplicates_of(w.recipe),
        attributes=lambda w: idioms_trained_on(w.recipe),
        runs=lambda w: list(mined_runs(w.recipe).values()),
        folds=lambda w: folds_file(w.recipe),
        held_out=lambda w: held_out(w.recipe),
        code=code("mine_triplets"),
    output:
        f"{FINE_TUNED}/triplets/{{fold}}.parquet",
    log:
        f"{RESULTS}/logs/mine_triplets/{{recipe}}/{{fold}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/mine_triplets/{{recipe}}/{{fold}}.tsv"
    wildcard_constraints:
        recipe=one_of(RECIPES),
        fold=f"{WHOLE}|fold-[0-9]+",
    conda:
        "../../envs/core.yaml"
    params:
        negatives=lambda w: canonical(RECIPES[w.recipe]["negatives"]),
        runs=lambda w: [f"{name}={path}" for name, path in mined_runs(w.recipe).items()],
        duplicates=lambda w, input: f"--duplicates {input.duplicates}" if input.duplicates else "",
        attributes=lambda w, input: f"--attributes {input.attributes}" if input.attributes else "",
        folds=lambda w, input: (f"--folds {input.folds} --fold {w.fold.removeprefix('fold-')}" if input.folds else ""),
        seed=study.spec["seed"],
    message:
        "Mining triplets for {wildcards.recipe}, {wildcards.fold}"
    shell:
        "python -m verseir mine_triplets --queries {input.queries:q} --qrels {input.qrels:q} --chunks {input.chunks:q}"
        " {params.duplicates} {params.attributes} {params.folds} --held-out {input.held_out:q} --runs {params.runs:q}"
        " --negatives {params.negatives:q} --seed {params.seed} --output {output:q} 2>&1 | tee {log:q}"


rule fine_tune_encoder:
    """Train one encoder with one seed: InfoNCE, early stopping on validation queries. A killed run goes on."""
    input:
        triplets=f"{FINE_TUNED}/triplets/{{fold}}.parquet",
        queries=lambda w: trained_on(w.recipe),
        qrels=lambda w: trained_on(w.recipe, ".qrels"),
        chunks=lambda w: chunks_trained_on(w.recipe),
        validation_queries=lambda w: f"{RESULTS}/queries/{validated_with(w.recipe)}.parquet",
        validation_qrels=lambda w: f"{RESULTS}/queries/{validated_with(w.recipe)}.qrels.parquet",
        validation_chunks=lambda w: chunks_trained_on(w.recipe, "validation"),
        folds=lambda w: folds_file(w.recipe),
        duplicates=lambda w: duplicates_of(w.recipe),
        within=lambda w: list(files_within(*validated_within(w.recipe)).values()),
        code=code("fine_tune_encoder"),
    output:
        model=directory(f"{FINE_TUNED}/{{seed}}/{{fold}}/model"),
        curve=f"{FINE_TUNED}/{{seed}}/{{fold}}/curve.csv",
    log:
        f"{RESULTS}/logs/fine_tune_encoder/{{recipe}}/{{seed}}/{{fold}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/fine_tune_encoder/{{recipe}}/{{seed}}/{{fold}}.tsv"
    wildcard_constraints:
        recipe=one_of(RECIPES),
        seed="[0-9]+",
        fold=f"{WHOLE}|fold-[0-9]+",
    conda:
        "../../envs/encoders.yaml"
    threads: 8
    resources:
        gpu=1,
        mem_mb=lambda w, attempt: 16000 * attempt,
    params:
        entry=lambda w: system_entry(RECIPES[w.recipe]["base"]),
        training=lambda w: canonical(training_of(RECIPES[w.recipe])),
        measure=lambda w: RECIPES[w.recipe]["measure"],
        encoding=lambda w: canonical(study.encoding_of(RECIPES[w.recipe]["train"]["query_set"])),
        validation_encoding=lambda w: canonical(study.encoding_of(validated_with(w.recipe))),
        folds=lambda w, input: f"--folds {input.folds}" if input.folds else "",
        duplicates=lambda w, input: f"--duplicates {input.duplicates}" if input.duplicates else "",
        within=lambda w: options_within(*validated_within(w.recipe)),
        depth=study.spec["depth"],
    message:
        "Training {wildcards.recipe}, seed {wildcards.seed}, {wildcards.fold}"
    shell:
        "python -m verseir fine_tune_encoder --threads {threads} --gpus {resources.gpu} --recipe {wildcards.recipe:q}"
        " --seed {wildcards.seed} --fold {wildcards.fold} --entry {params.entry:q} --training {params.training:q}"
        " --measure {params.measure:q} --triplets {input.triplets:q} --chunks {input.chunks:q} --queries {input.queries:q}"
        " --qrels {input.qrels:q} --encoding {params.encoding:q} --validation-chunks {input.validation_chunks:q}"
        " --validation-queries {input.validation_queries:q} --validation-qrels {input.validation_qrels:q}"
        " --validation-encoding {params.validation_encoding:q} {params.folds} {params.duplicates} {params.within:q}"
        " --depth {params.depth} --output {output.model:q} --curve {output.curve:q} 2>&1 | tee {log:q}"


# A rule of its own, since a cluster may send other searches off together: these come after training, those before it.
use rule search_dense as search_trained with:
    log:
        f"{RESULTS}/logs/search_trained/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/search_trained/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.trained),


rule join_folds:
    """One ranked list for each query: of the encoder that was trained without it."""
    input:
        runs=arm_runs,
        folds=lambda w: folds_file(w.system.rpartition(".")[0]),
        code=code("join_folds"),
    output:
        run=RUN,
    log:
        f"{RESULTS}/logs/join_folds/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/join_folds/{{corpus}}/{{mode}}/{{query_set}}/{{system}}.tsv"
    wildcard_constraints:
        system=one_of(study.systems("folds")),
    conda:
        "../../envs/core.yaml"
    message:
        "Joining the folds of {wildcards.system} on {wildcards.corpus}, mode {wildcards.mode}, {wildcards.query_set}"
    shell:
        "python -m verseir join_folds --runs {input.runs:q} --folds {input.folds:q} --output {output.run:q}"
        " 2>&1 | tee {log:q}"
