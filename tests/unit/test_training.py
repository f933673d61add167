"""Training: the loss and its gradient, the curve, a run that is killed and goes on."""

import json
import shutil

import numpy as np
import polars as pl
import pytest
import tiny_models
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from verseir.faults import UserError
from verseir.systems.identity import identify
from verseir.systems.query_encoding import QueryEncoding
from verseir.systems.transformer import TransformerEncoder
from verseir.training import fine_tune as module
from verseir.training.curve import Point, best_of, curve_frame, is_over
from verseir.training.examples import examples_of, validation_of
from verseir.training.fine_tune import fine_tune
from verseir.training.loss import Examples, InfoNCE, columns_of, info_nce, pieces_of

WORDS = "well rope stone rain lamp gate star road".split()


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return tiny_models.bert(tmp_path_factory.mktemp("models") / "bert")


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    monkeypatch.setenv("VERSEIR_CACHE", str(tmp_path / "cache"))


def loaded(folder, **entry):
    return TransformerEncoder(identify(tiny_models.entry(folder, **entry)), "cpu")


def examples(encoder, spans=False):
    """Eight queries, one a word, each with a document that holds it and two that do not."""
    texts = [f"the {word} of the old house" for word in WORDS]
    view = QueryEncoding(view="span" if spans else "sentence")
    readings = view.readings(encoder.identity.entry, [f"where is the {word} now" for word in WORDS], WORDS)
    return Examples(
        encoder.tokenise(encoder.prepare(readings, "query")),
        encoder.tokenise(encoder.prepare(texts, "document")),
        np.arange(8),
        [[(n + 1) % 8, (n + 2) % 8] for n in range(8)],
        [frozenset({n}) for n in range(8)],
    )


SETTINGS = {
    "temperature": 0.05,
    "learning_rate": 1e-3,
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "batch_size": 4,
    "epochs": 4,
    "patience": 3,
    "warmup": {"ratio": 0.1},
    "mask_false_negatives": True,
    "shared_negatives": False,
    "precision": "float32",
}


class Counted:
    """A validation whose values are given, so that a test knows which epoch is best; it may stop the run as a kill
    does, in the middle of an epoch's end."""

    measure = "nDCG@10"

    def __init__(self, values, killed_at=None):
        self.values, self.killed_at, self.calls = values, killed_at, 0

    def value(self, encoder):
        self.calls += 1
        if self.calls == self.killed_at:
            raise KeyboardInterrupt
        return self.values[min(self.calls, len(self.values)) - 1]


class Separation:
    """How much nearer queries are to their own document than to others: a real look at the weights."""

    measure = "nDCG@10"

    def __init__(self, killed_at=None):
        self.killed_at, self.calls = killed_at, 0

    def value(self, encoder):
        self.calls += 1
        if self.calls == self.killed_at:
            raise KeyboardInterrupt
        queries = encoder.encode([f"where is the {word} now" for word in WORDS], "query")
        documents = encoder.encode([f"the {word} of the old house" for word in WORDS], "document")
        scores = queries @ documents.T
        return float(np.mean(np.diag(scores) - scores.mean(axis=1)))


def weights(encoder):
    """All weights that a vector depends on: the files of the tiny model hold no pooler, which is drawn at random."""
    named = encoder.model.named_parameters()
    return {name: values.detach().clone() for name, values in named if "pooler" not in name}


def assert_same(a, b):
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_the_loss_of_two_queries_by_hand():
    """cos = 1 with the own positive, 0 with the other, -1 with the own negative: -log(e^20 / (e^20 + 1 + e^-20))."""
    queries = torch.tensor([[2.0, 0.0], [0.0, 3.0]])
    documents = torch.tensor([[5.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -4.0]])
    allowed = torch.tensor([[True, True, True, False], [True, True, False, True]])
    loss = info_nce(queries, documents, allowed, 0.05)
    assert float(loss) == pytest.approx(np.log1p(np.exp(-20) + np.exp(-40)), abs=1e-7)
    half = info_nce(queries, documents, allowed, 1.0)
    assert float(half) == pytest.approx(np.log(1 + np.exp(-1) + np.exp(-2)), abs=1e-6)


def test_columns_mask_what_is_relevant_and_share_what_is_asked():
    given = Examples(
        [], [], np.array([0, 1, 2]), [[3], [4], []], [frozenset({0, 1}), frozenset({1, 3}), frozenset({2})]
    )
    columns = columns_of(given, [0, 1, 2], mask=False, shared=False)
    assert columns.documents.tolist() == [0, 1, 2, 3, 4]
    assert columns.allowed.tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 0, 1], [1, 1, 1, 0, 0]]
    masked = columns_of(given, [0, 1, 2], mask=True, shared=False)
    assert masked.allowed.tolist() == [[1, 0, 1, 1, 0], [1, 1, 1, 0, 1], [1, 1, 1, 0, 0]]
    shared = columns_of(given, [0, 1, 2], mask=True, shared=True)
    assert shared.allowed.tolist() == [[1, 0, 1, 1, 1], [1, 1, 1, 0, 1], [1, 1, 1, 1, 1]]


def test_a_positive_is_never_masked_also_where_two_queries_share_it():
    given = Examples([], [], np.array([0, 0]), [[], []], [frozenset({0}), frozenset({0})])
    assert columns_of(given, [0, 1], mask=True, shared=False).allowed.tolist() == [[1, 0], [0, 1]]


@given(st.lists(st.integers(1, 60), max_size=40), st.integers(1, 200))
def test_pieces_hold_every_row_once_within_their_budget(lengths, budget):
    pieces = list(pieces_of(lengths, budget))
    assert sorted(row for piece in pieces for row in piece) == list(range(len(lengths)))
    for piece in pieces:
        assert len(piece) == 1 or max(lengths[row] for row in piece) * len(piece) <= budget


@pytest.mark.parametrize("spans", [False, True])
def test_a_cached_gradient_is_that_of_the_whole_batch(bert, spans):
    def gradients(cache):
        encoder = loaded(bert)  # in eval mode: no dropout
        given = examples(encoder, spans)
        loss = InfoNCE(encoder, given, temperature=0.05, mask=True, shared=True, precision="float32", cache=cache)
        value = loss(None, torch.arange(8))
        value.backward()
        return float(value.detach()), {
            name: one.grad for name, one in encoder.model.named_parameters() if one.grad is not None
        }

    whole, cached = gradients(None), gradients(20)
    assert cached[0] == pytest.approx(whole[0], rel=1e-5)
    assert cached[1].keys() == whole[1].keys()
    assert any(float(one.abs().max()) > 1e-4 for one in whole[1].values())
    for name, gradient in whole[1].items():
        torch.testing.assert_close(cached[1][name], gradient, rtol=1e-3, atol=1e-5)


def test_a_cached_gradient_replays_dropout(bert):
    """With dropout the second pass has to draw what the first drew: else the loss at hand is not the one that falls."""
    encoder = loaded(bert)
    encoder.model.train()
    loss = InfoNCE(encoder, examples(encoder), temperature=0.05, mask=True, shared=False, precision="float32", cache=20)
    seen = []
    own = loss._piece
    loss._piece = lambda texts, role: seen.append(own(texts, role)) or seen[-1]
    torch.manual_seed(3)
    loss(None, torch.arange(8)).backward()
    first, again = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert len(first) > 2
    for a, b in zip(first, again, strict=True):
        torch.testing.assert_close(a.detach(), b.detach())


def test_bf16_multiplies_in_bfloat16(bert):
    encoder = loaded(bert)
    both = [
        InfoNCE(encoder, examples(encoder), temperature=0.05, mask=True, shared=False, precision=precision, cache=None)
        for precision in ("float32", "bf16")
    ]
    exact, rough = (float(loss(None, torch.arange(8)).detach()) for loss in both)
    assert exact != rough
    assert rough == pytest.approx(exact, rel=0.1)


def test_training_brings_queries_nearer_to_their_documents(bert, tmp_path):
    encoder = loaded(bert)
    longer = SETTINGS | {"epochs": 20, "patience": 20, "learning_rate": 1e-2}
    trained = fine_tune(encoder, examples(encoder), Separation(), longer, 42, tmp_path / "run")
    values = [point.value for point in trained.points]
    assert values[best_of(trained.points)] > values[0] + 0.05
    assert [point.step for point in trained.points] == list(range(0, 41, 2))
    assert trained.points[1].train_loss > 1.3 * trained.points[-1].train_loss
    again = Separation().value(encoder)
    assert again == max(values[1:])  # the weights are those of the best epoch


def test_the_same_seed_gives_the_same_encoder_and_another_one_another(bert, tmp_path):
    def run(seed, name):
        encoder = loaded(bert)
        fine_tune(encoder, examples(encoder), Counted([0, 1, 2, 3, 4]), SETTINGS, seed, tmp_path / name)
        return weights(encoder)

    first = run(42, "a")
    assert_same(first, run(42, "b"))
    other = run(43, "c")
    assert any(not torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("killed_at", [2, 3, 4, 5])
@pytest.mark.parametrize("more", [{}, {"lora": {"rank": 4, "alpha": 8, "dropout": 0.1, "targets": "all-linear"}}])
def test_a_killed_run_goes_on_to_the_same_encoder(bert, tmp_path, killed_at, more):
    whole = loaded(bert)
    expected = fine_tune(whole, examples(whole), Separation(), SETTINGS | more, 42, tmp_path / "whole")
    killed = loaded(bert)
    with pytest.raises(KeyboardInterrupt):
        fine_tune(killed, examples(killed), Separation(killed_at), SETTINGS | more, 42, tmp_path / "killed")
    resumed = loaded(bert)
    got = fine_tune(resumed, examples(resumed), Separation(), SETTINGS | more, 42, tmp_path / "killed")
    assert got.points == expected.points
    assert_same(weights(resumed), weights(whole))


def test_a_checkpoint_that_is_not_whole_is_passed_over(bert, tmp_path):
    whole = loaded(bert)
    expected = fine_tune(whole, examples(whole), Separation(), SETTINGS, 42, tmp_path / "whole")
    killed = loaded(bert)
    with pytest.raises(KeyboardInterrupt):
        fine_tune(killed, examples(killed), Separation(4), SETTINGS, 42, tmp_path / "killed")
    last = tmp_path / "killed" / "checkpoint-4"
    (last / "whole").unlink()
    (last / "trained.safetensors").write_bytes(b"half")
    resumed = loaded(bert)
    got = fine_tune(resumed, examples(resumed), Separation(), SETTINGS, 42, tmp_path / "killed")
    assert got.points == expected.points
    assert_same(weights(resumed), weights(whole))


@pytest.mark.parametrize("lost", ["checkpoint-6/trained.safetensors", "checkpoint-6/optimizer.pt", "checkpoint-6"])
def test_a_checkpoint_that_lost_files_is_not_gone_on_with(bert, tmp_path, lost):
    """Killed while an old checkpoint was removed, or emptied by a cleaner: marked as whole, and is not."""
    whole = loaded(bert)
    expected = fine_tune(whole, examples(whole), Separation(), SETTINGS, 42, tmp_path / "whole")
    killed = loaded(bert)
    with pytest.raises(KeyboardInterrupt):
        fine_tune(killed, examples(killed), Separation(5), SETTINGS, 42, tmp_path / "killed")
    place = tmp_path / "killed" / lost
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
    resumed = loaded(bert)
    got = fine_tune(resumed, examples(resumed), Separation(), SETTINGS, 42, tmp_path / "killed")
    assert got.points == expected.points
    assert_same(weights(resumed), weights(whole))


def test_training_that_comes_apart_is_told_as_such(bert, tmp_path):
    encoder = loaded(bert)
    wild = SETTINGS | {"learning_rate": 1e30, "warmup": {"steps": 0}}
    with pytest.raises(UserError, match="training of 'tiny' came apart before epoch 1") as caught:
        fine_tune(encoder, examples(encoder), Separation(), wild, 42, tmp_path / "run")
    assert "learning_rate" in caught.value.hint


def test_copies_of_what_is_relevant_are_relevant(bert):
    encoder = loaded(bert)
    triplets = pl.DataFrame(
        [("a", 0, "p1", "p1#0"), ("a", 1, "p3", "p3#0"), ("b", 0, "p2", "p2#0")],
        schema=["query_id", "place", "poem_id", "chunk_id"],
        orient="row",
    )
    chunks = pl.DataFrame({"chunk_id": [f"p{n}#0" for n in (1, 2, 3)], "text": ["a lamp", "the lamp", "rain"]})
    queries = pl.DataFrame({"query_id": ["a", "b"], "text": ["lamp", "light"], "span": [None, None]})
    qrels = pl.DataFrame({"query_id": ["a", "b"], "poem_id": ["p1", "p2"], "grade": [1, 1]})
    given = (encoder, triplets, queries, qrels, chunks, QueryEncoding())
    assert examples_of(*given, {}).relevant == [frozenset({0}), frozenset({2})]
    assert examples_of(*given, {"p1": "x", "p2": "x"}).relevant == [frozenset({0, 2}), frozenset({0, 2})]


def test_validation_searches_within_a_group_as_a_test_does(bert):
    encoder = loaded(bert)
    chunks = pl.DataFrame(
        {
            "chunk_id": ["p1#0", "p2#0"],
            "poem_id": ["p1", "p2"],
            "first_verse": [0, 0],
            "text": ["the well of the old house", "where is the well now"],
        }
    )
    queries = pl.DataFrame({"query_id": ["a"], "text": ["where is the well now"], "span": [None]})
    qrels = pl.DataFrame({"query_id": ["a"], "poem_id": ["p1"], "grade": [1]})
    given = (encoder, queries, qrels, chunks, QueryEncoding(), "MRR", 10)
    assert validation_of(*given).value(encoder) == 0.5  # the other poem is the query itself
    within = validation_of(*given, groups=lambda queries, chunks: (["east"], ["east", "west"]))
    assert within.value(encoder) == 1.0


def test_a_run_that_had_ended_is_not_trained_further(bert, tmp_path):
    """Killed after the last epoch and before its encoder was written: it has stopped early, and stays stopped."""
    encoder = loaded(bert)
    stopping = [0.1, 0.9, 0.5, 0.5, 0.5, 0.95]
    given = SETTINGS | {"epochs": 9}
    first = fine_tune(encoder, examples(encoder), Counted(stopping), given, 42, tmp_path / "run")
    assert [point.value for point in first.points] == stopping[:5]
    again = loaded(bert)
    second = fine_tune(again, examples(again), Counted(stopping), given, 42, tmp_path / "run")
    assert second.points == first.points
    assert_same(weights(again), weights(encoder))


def test_adapters_are_merged_and_leave_nothing_behind(bert, tmp_path):
    plain, encoder = loaded(bert), loaded(bert)
    lora = {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": ["query", "value"]}
    fine_tune(encoder, examples(encoder), Counted([0, 1, 2, 3, 4]), SETTINGS | {"lora": lora}, 42, tmp_path / "run")
    before, after = weights(plain), weights(encoder)
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(name.endswith(("query.weight", "value.weight")) for name in changed)
    encoder.model.save_pretrained(str(tmp_path / "saved"), create_model_card=False)
    again = loaded(tmp_path / "saved")
    assert not again.load_faults
    np.testing.assert_allclose(again.encode(["a lamp"], "query"), encoder.encode(["a lamp"], "query"), atol=1e-6)


def test_adapters_that_fit_nowhere_say_what_there_is(bert, tmp_path):
    encoder = loaded(bert)
    lora = {"rank": 4, "alpha": 8, "dropout": 0.0, "targets": ["q_proj"]}
    with pytest.raises(UserError, match="no adapter fits 'tiny'") as caught:
        fine_tune(encoder, examples(encoder), Counted([0]), SETTINGS | {"lora": lora}, 42, tmp_path / "run")
    assert "query" in caught.value.hint


def test_steps_end_a_run_and_warming_up_is_counted_in_them(bert, tmp_path):
    encoder = loaded(bert)
    given = SETTINGS | {"max_steps": 3, "warmup": {"steps": 100}}
    trained = fine_tune(encoder, examples(encoder), Counted([0, 1, 2]), given, 42, tmp_path / "run")
    assert trained.steps == 3
    assert [point.step for point in trained.points] == [0, 2, 3]
    # The rate rises by a hundredth of 1e-3 a step, from 0 at the first; what is told is that of the step to come.
    assert trained.points[1].learning_rate == pytest.approx(1e-5)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(1, 4))
def test_a_run_is_over_when_nothing_better_came_for_so_long(values, patience):
    points = [Point(0, 0, 9.0), *(Point(n, n, value) for n, value in enumerate(values, 1))]
    best = values.index(max(values)) + 1
    assert best_of(points) == best
    assert is_over(points, patience) == (len(values) - best >= patience)


def test_before_training_nothing_is_over():
    assert best_of([Point(0, 0, 0.5)]) == 0
    assert not is_over([Point(0, 0, 0.5)], 1)


def test_the_curve_marks_one_best_epoch():
    points = [Point(0, 0, 0.9), Point(1, 5, 0.5, 2.0, 1e-5), Point(2, 10, 0.7, 1.0, 0.0), Point(3, 15, 0.7, 0.9, 0.0)]
    frame = curve_frame(points, "r", 42, "whole", "nDCG@10")
    assert frame["best"].to_list() == [False, False, True, False]


def test_no_checkpoint_holds_more_than_what_is_trained(bert, tmp_path):
    encoder = loaded(bert)
    lora = {"rank": 2, "alpha": 8, "dropout": 0.0, "targets": ["query"]}
    given = SETTINGS | {"lora": lora, "epochs": 2}
    fine_tune(encoder, examples(encoder), Counted([0, 1, 2]), given, 42, tmp_path / "run")
    kept = module.load_file(tmp_path / "run" / "checkpoint-4" / module.WEIGHTS)
    assert kept and all("lora_" in name for name in kept)
    state = json.loads((tmp_path / "run" / "checkpoint-4" / "trainer_state.json").read_text("utf-8"))
    assert state["global_step"] == 4
    shutil.rmtree(tmp_path / "run")
