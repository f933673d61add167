# Inputs: checked together, then read into the tables of the study.

from verseir.corpora.poetrymteb import Setting, files_read


def files_of(corpus):
    """The files of this machine that a corpus is read from: those named, and all in a folder that is named."""
    spec = study.spec["corpora"][corpus]
    named = [spec.get("path"), spec.get("sources"), *without_written(spec).get("explanations", {}).values()]
    files = []
    if spec["adapter"] == "idiolink" and "path" in spec:
        return [str(Path(spec["path"]) / "indexes.json")]
    if spec["adapter"] == "poetrymteb":
        return [*map(str, files_read(spec, Path())), *filter(None, [spec.get("counts")])]
    if spec["adapter"] == "beir" and "path" in spec:
        return beir_files(corpus, "corpus.jsonl")
    for path in filter(None, named):
        folder = Path(path)
        files += map(str, filter(Path.is_file, folder.rglob("*"))) if folder.is_dir() else [path]
    return sorted(files)


def beir_files(corpus, *names):
    """The files of these names, plain or packed, of a data set in the format of BEIR: those that are there."""
    if "path" not in study.spec["corpora"][corpus]:
        return []
    folder = Path(study.spec["corpora"][corpus]["path"])
    return [str(path) for name in names for path in (folder / name, folder / f"{name}.gz") if path.is_file()]


def idiom_files_of(query_set):
    """The file of this machine that the queries of an idiom benchmark are read from."""
    folder = study.spec["corpora"][study.idiom_home(query_set)].get("path")
    return [str(Path(folder) / "queries.json")] if folder else []


def query_files_of(query_set):
    spec = study.spec["query_sets"][query_set]
    if "poetry" in spec:
        home = study.spec["corpora"][spec["poetry"]["corpus"]]
        asked = Setting(*(spec["poetry"][key] for key in ("aspect", "scope", "split")))
        return [*map(str, files_read(home, Path(), [asked])), *filter(None, [home.get("counts")])]
    if "beir" in spec:
        return beir_files(beir_home(query_set), "queries.jsonl", f"qrels/{spec['beir']['split']}.tsv")
    return [path for path in (spec.get("path"), spec.get("qrels")) if path]


def input_files():
    """All files of this machine that the study reads."""
    corpora = [path for corpus in study.corpora for path in files_of(corpus)]
    corpora += [path for name in study.idiom_sets for path in idiom_files_of(name)]
    query_sets = [path for query_set in study.query_sets for path in query_files_of(query_set)]
    edits = [path for query_set in edited_query_sets for path in edit_files(query_set)]
    return sorted({*corpora, *query_sets, *edits, *(path for _, path in named_files(study.spec))})


given_query_sets = [name for name in study.query_sets if "path" in study.spec["query_sets"][name]]
chapter_query_sets = [name for name in study.query_sets if "chapters" in study.spec["query_sets"][name]]
drawn_query_sets = [name for name in study.query_sets if "probe" in study.spec["query_sets"][name]]


poetry_query_sets = [name for name in study.query_sets if "poetry" in study.spec["query_sets"][name]]
beir_query_sets = [name for name in study.query_sets if "beir" in study.spec["query_sets"][name]]


def asked_of(query_set):
    """Which setting of which benchmark of poetry a query set is."""
    return study.spec["query_sets"][query_set]["poetry"]


def beir_home(query_set):
    """The corpus that the queries of a data set in the format of BEIR come with."""
    return study.spec["query_sets"][query_set]["beir"]["corpus"]


def chapters_of(query_set):
    """The anthology whose chapters a query set is made of."""
    return study.spec["query_sets"][query_set]["chapters"]["corpus"]


def explanations_of(corpus, modes):
    """The explanations of a corpus: those that came with it, and those that a model writes and these modes index."""
    fields = {field for mode in modes for field in study.spec["modes"][mode]}
    written = [source for source in study.written[corpus] if f"explanation:{source}" in fields]
    folder = f"{RESULTS}/corpora/{corpus}"
    return [f"{folder}/explanations.parquet", *(f"{folder}/written/{source}.parquet" for source in written)]


def indexed_in(corpus, modes):
    """The chunks of those of ``modes`` that keep some poems of a corpus only: they say which."""
    return [f"{RESULTS}/corpora/{corpus}/chunks/{mode}.parquet" for mode in modes if mode in study.spec["keep"]]


# Before the first job of a run, every input of the study is read, and all faults are refused at once. This is no rule:
# as one, a change in one corpus would re-run all others.
onstart:
    if "query_sheet" in workflow.dag_settings.targets and "corpus" not in QUERY_SHEET:
        problem = "the study has several corpora: which one are queries to be written for?"
        raise WorkflowError(f"{problem}\n  hint: query_sheet: {{corpus: ...}}, one of {', '.join(study.corpora)}")
    options = check_options(study, models_later=set(workflow.dag_settings.targets) == {"plan_costs"})
    told = subprocess.DEVNULL if QUIET else None  # its faults go to stderr
    if subprocess.run([sys.executable, "-m", "verseir", "check_inputs", *options], stdout=told).returncode:
        raise WorkflowError("the inputs of the study have faults (see above); nothing was run")


rule ingest_corpus:
    """Read the poems and explanations of one corpus; audit duplicates."""
    input:
        files=lambda w: files_of(w.corpus),
        code=code("ingest_corpus"),
    output:
        poems=f"{RESULTS}/corpora/{{corpus}}/poems.parquet",
        explanations=f"{RESULTS}/corpora/{{corpus}}/explanations.parquet",
        attributes=f"{RESULTS}/corpora/{{corpus}}/attributes.parquet",
        duplicates=f"{RESULTS}/corpora/{{corpus}}/duplicates.csv",
        audit=f"{RESULTS}/corpora/{{corpus}}/audit.json",
    log:
        f"{RESULTS}/logs/ingest_corpus/{{corpus}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/ingest_corpus/{{corpus}}.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        spec=lambda w: corpus_spec(w.corpus),
    message:
        "Reading the corpus {wildcards.corpus}"
    shell:
        "python -m verseir ingest_corpus --name {wildcards.corpus:q} --spec {params.spec:q} --poems {output.poems:q}"
        " --explanations {output.explanations:q} --attributes {output.attributes:q} --duplicates {output.duplicates:q}"
        " --audit {output.audit:q} 2>&1 | tee {log:q}"


rule ingest_queries:
    """Read one query set and its judgements."""
    input:
        files=lambda w: query_files_of(w.query_set),
        code=code("ingest_queries"),
    output:
        queries=f"{RESULTS}/queries/{{query_set}}.parquet",
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        attributes=f"{RESULTS}/queries/{{query_set}}.attributes.parquet",
    log:
        f"{RESULTS}/logs/ingest_queries/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/ingest_queries/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(given_query_sets),
    conda:
        "../../envs/core.yaml"
    params:
        spec=lambda w: query_spec(w.query_set),
    message:
        "Reading the query set {wildcards.query_set}"
    shell:
        "python -m verseir ingest_queries --name {wildcards.query_set:q} --spec {params.spec:q}"
        " --queries {output.queries:q} --qrels {output.qrels:q} --attributes {output.attributes:q} 2>&1 | tee {log:q}"


rule draw_probes:
    """Draw synthetic known-item queries from a corpus that has none."""
    input:
        poems=lambda w: f"{RESULTS}/corpora/{study.spec['query_sets'][w.query_set]['probe']['corpus']}/poems.parquet",
        code=code("draw_probes"),
    output:
        queries=f"{RESULTS}/queries/{{query_set}}.parquet",
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
    log:
        f"{RESULTS}/logs/draw_probes/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_probes/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(drawn_query_sets),
    conda:
        "../../envs/core.yaml"
    params:
        n=lambda w: study.spec["query_sets"][w.query_set]["probe"]["n"],
        kinds=lambda w: study.spec["query_sets"][w.query_set]["probe"]["kinds"],
        seed=lambda w: study.spec["query_sets"][w.query_set]["probe"]["seed"],
    message:
        "Drawing the synthetic queries {wildcards.query_set} from the poems"
    shell:
        "python -m verseir draw_probes --name {wildcards.query_set:q} --poems {input.poems:q} --n {params.n}"
        " --kinds {params.kinds} --seed {params.seed} --queries {output.queries:q} --qrels {output.qrels:q} 2>&1 | tee {log:q}"


rule draw_chapters:
    """The chapters of an anthology as thematic queries, their pieces as the relevant poems."""
    input:
        files=lambda w: files_of(chapters_of(w.query_set)),
        poems=lambda w: f"{RESULTS}/corpora/{chapters_of(w.query_set)}/poems.parquet",
        code=code("draw_chapters"),
    output:
        queries=f"{RESULTS}/queries/{{query_set}}.parquet",
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
    log:
        f"{RESULTS}/logs/draw_chapters/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_chapters/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(chapter_query_sets),
    conda:
        "../../envs/core.yaml"
    params:
        corpus=lambda w: chapters_of(w.query_set),
        spec=lambda w: corpus_spec(chapters_of(w.query_set)),
    message:
        "Reading the chapters of {params.corpus} as the query set {wildcards.query_set}"
    shell:
        "python -m verseir draw_chapters --name {wildcards.query_set:q} --corpus {params.corpus:q} --spec {params.spec:q}"
        " --poems {input.poems:q} --queries {output.queries:q} --qrels {output.qrels:q} 2>&1 | tee {log:q}"


rule draw_idioms:
    """The queries of an idiom benchmark, judged by two rules: a literal use asks for literal uses, an idiomatic one for the sense."""
    input:
        files=lambda w: idiom_files_of(w.query_set),
        poems=lambda w: f"{RESULTS}/corpora/{study.idiom_home(w.query_set)}/poems.parquet",
        corpus_attributes=lambda w: f"{RESULTS}/corpora/{study.idiom_home(w.query_set)}/attributes.parquet",
        code=code("draw_idioms"),
    output:
        queries=f"{RESULTS}/queries/{{query_set}}.parquet",
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        attributes=f"{RESULTS}/queries/{{query_set}}.attributes.parquet",
    log:
        f"{RESULTS}/logs/draw_idioms/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_idioms/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(study.idiom_sets),
    conda:
        "../../envs/core.yaml"
    params:
        corpus=lambda w: study.idiom_home(w.query_set),
        spec=lambda w: corpus_spec(study.idiom_home(w.query_set)),
        filter=lambda w: canonical(study.spec["query_sets"][w.query_set].get("filter", {})),
    message:
        "Reading the idioms of {params.corpus} as the query set {wildcards.query_set}"
    shell:
        "python -m verseir draw_idioms --name {wildcards.query_set:q} --corpus {params.corpus:q} --spec {params.spec:q}"
        " --filter {params.filter:q} --poems {input.poems:q} --corpus-attributes {input.corpus_attributes:q}"
        " --queries {output.queries:q} --qrels {output.qrels:q} --attributes {output.attributes:q} 2>&1 | tee {log:q}"


rule draw_beir:
    """The queries and judgements of one split of a data set in the format of BEIR."""
    input:
        files=lambda w: query_files_of(w.query_set),
        documents=lambda w: files_of(beir_home(w.query_set)),
        poems=lambda w: f"{RESULTS}/corpora/{beir_home(w.query_set)}/poems.parquet",
        code=code("draw_beir"),
    output:
        queries=f"{RESULTS}/queries/{{query_set}}.parquet",
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        attributes=f"{RESULTS}/queries/{{query_set}}.attributes.parquet",
    log:
        f"{RESULTS}/logs/draw_beir/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_beir/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(beir_query_sets),
    conda:
        "../../envs/core.yaml"
    params:
        spec=lambda w: query_spec(w.query_set),
        corpus_spec=lambda w: corpus_spec(beir_home(w.query_set)),
    message:
        "Reading the queries of the query set {wildcards.query_set}"
    shell:
        "python -m verseir draw_beir --name {wildcards.query_set:q} --spec {params.spec:q}"
        " --corpus-spec {params.corpus_spec:q} --poems {input.poems:q} --queries {output.queries:q}"
        " --qrels {output.qrels:q} --attributes {output.attributes:q} 2>&1 | tee {log:q}"


rule draw_poetry:
    """The queries of one setting of a benchmark of poetry, with their grades."""
    input:
        files=lambda w: query_files_of(w.query_set),
        poems=lambda w: f"{RESULTS}/corpora/{asked_of(w.query_set)['corpus']}/poems.parquet",
        code=code("draw_poetry"),
    output:
        queries=f"{RESULTS}/queries/{{query_set}}.parquet",
        qrels=f"{RESULTS}/queries/{{query_set}}.qrels.parquet",
        attributes=f"{RESULTS}/queries/{{query_set}}.attributes.parquet",
    log:
        f"{RESULTS}/logs/draw_poetry/{{query_set}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/draw_poetry/{{query_set}}.tsv"
    wildcard_constraints:
        query_set=one_of(poetry_query_sets),
    conda:
        "../../envs/core.yaml"
    params:
        spec=lambda w: corpus_spec(asked_of(w.query_set)["corpus"]),
        aspect=lambda w: asked_of(w.query_set)["aspect"],
        scope=lambda w: asked_of(w.query_set)["scope"],
        split=lambda w: asked_of(w.query_set)["split"],
    message:
        "Reading the query set {wildcards.query_set}"
    shell:
        "python -m verseir draw_poetry --name {wildcards.query_set:q} --spec {params.spec:q} --aspect {params.aspect}"
        " --scope {params.scope} --split {params.split} --poems {input.poems:q} --queries {output.queries:q}"
        " --qrels {output.qrels:q} --attributes {output.attributes:q} 2>&1 | tee {log:q}"


rule write_explanations:
    """One explanation a verse by a language model. What it wrote is kept, verse by verse, when a run is stopped."""
    input:
        poems=rules.ingest_corpus.output.poems,
        prompt=lambda w: study.spec["corpora"][w.corpus]["explanations"][w.source]["prompt"],
        code=code("write_explanations"),
    output:
        explanations=f"{RESULTS}/corpora/{{corpus}}/written/{{source}}.parquet",
        rejects=f"{RESULTS}/corpora/{{corpus}}/written/{{source}}.rejects.csv",
    log:
        f"{RESULTS}/logs/write_explanations/{{corpus}}/{{source}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/write_explanations/{{corpus}}/{{source}}.tsv"
    wildcard_constraints:
        source=one_of({source for sources in study.written.values() for source in sources}),
    conda:
        "../../envs/encoders.yaml"
    threads: 8
    resources:
        gpu=lambda w: int("model" in study.spec["corpora"][w.corpus]["explanations"][w.source]),
    params:
        spec=lambda w: canonical(study.spec["corpora"][w.corpus]["explanations"][w.source]),
        seed=study.spec["seed"],
    message:
        "Writing the explanations {wildcards.source} of {wildcards.corpus}"
    shell:
        "python -m verseir write_explanations --corpus {wildcards.corpus:q} --source {wildcards.source:q}"
        " --poems {input.poems:q} --spec {params.spec:q} --seed {params.seed} --output {output.explanations:q}"
        " --rejects {output.rejects:q} 2>&1 | tee {log:q}"


rule make_chunks:
    """Compose the text of every chunk of a corpus in one indexing mode."""
    input:
        poems=rules.ingest_corpus.output.poems,
        explanations=lambda w: explanations_of(w.corpus, [w.mode]),
        attributes=rules.ingest_corpus.output.attributes,
        code=code("make_chunks"),
    output:
        f"{RESULTS}/corpora/{{corpus}}/chunks/{{mode}}.parquet",
    log:
        f"{RESULTS}/logs/make_chunks/{{corpus}}/{{mode}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/make_chunks/{{corpus}}/{{mode}}.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        fields=lambda w: spec("modes", w.mode),
        keep=lambda w: canonical({name: sorted(values) for name, values in study.spec["keep"].get(w.mode, {}).items()}),
        verses=study.spec["chunks"]["verses"],
        stride=study.spec["chunks"]["stride"],
    message:
        "Making the chunks of {wildcards.corpus}, mode {wildcards.mode}"
    shell:
        "python -m verseir make_chunks --poems {input.poems:q} --explanations {input.explanations:q}"
        " --attributes {input.attributes:q} --keep {params.keep:q} --fields {params.fields:q} --verses {params.verses}"
        " --stride {params.stride} --output {output:q} 2>&1 | tee {log:q}"
