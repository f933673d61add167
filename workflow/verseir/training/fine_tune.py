"""One training run of one encoder, on the trainer of sentence-transformers: the same again for the same seed.

A run that was killed goes on from the last epoch that it saved. Weights, the optimiser, the schedule, the generators
and the order of the examples are those that it would have had, and so is the encoder in the end.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
from torch.utils.data import RandomSampler
from transformers import PrinterCallback, TrainerCallback, set_seed

from verseir.atomic import write_text
from verseir.faults import UserError
from verseir.systems.transformer import TransformerEncoder
from verseir.training.adapters import Adapters
from verseir.training.curve import Point, best_of, is_over
from verseir.training.loss import Examples, InfoNCE
from verseir.training.validation import Validation

log = logging.getLogger(__name__)

#: What says that a checkpoint is whole: a kill may leave a part of one.
WHOLE = "whole"
WEIGHTS = "trained.safetensors"
#: What the trainer calls the measure that is watched.
WATCHED = "eval_validation"


@dataclass(frozen=True)
class Trained:
    """What a run came to: its validation curve, and the number of its steps."""

    points: list[Point]
    steps: int


def fine_tune(
    encoder: TransformerEncoder,
    examples: Examples,
    validation: Validation,
    settings: Mapping[str, Any],
    seed: int,
    folder: Path,
) -> Trained:
    """Train ``encoder`` in place; it ends with the weights of its best epoch.

    Args:
        encoder: loaded in float32.
        examples: what it is trained on.
        validation: what tells the epochs apart.
        settings: ``training`` of a recipe, with all defaults.
        seed: of the order of examples, of dropout and of adapters.
        folder: for checkpoints; what a killed run left there is gone on with.
    """
    logging.getLogger("transformers.trainer_utils").setLevel(logging.ERROR)  # it tells how it sorts checkpoints
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it a GPU may add in another order
    torch.use_deterministic_algorithms(True, warn_only=True)
    points = [Point(0.0, 0, validation.value(encoder))]
    set_seed(seed)
    adapters = Adapters(encoder.model, settings["lora"], encoder.name) if "lora" in settings else None
    trainer = _trainer(encoder, examples, validation, settings, seed, folder)
    left = _last_whole(folder)
    if left is not None:
        trainer.state = trainer.state.load_from_json(str(left / "trainer_state.json"))
        log.info("%s: goes on from epoch %g", encoder.name, trainer.state.epoch)
    done = _points(trainer, points)
    if not (is_over(done, settings["patience"]) or trainer.state.global_step >= trainer.steps):
        trainer.train(resume_from_checkpoint=str(left) if left else None)
    points = _points(trainer, points)
    trainer._load_from_checkpoint(str(folder / f"checkpoint-{points[best_of(points)].step}"))
    if adapters:
        adapters.merge()
    encoder.model.eval()
    return Trained(points, trainer.state.global_step)


def _trainer(
    encoder: TransformerEncoder,
    examples: Examples,
    validation: Validation,
    settings: Mapping[str, Any],
    seed: int,
    folder: Path,
) -> _Trainer:
    size = min(settings["batch_size"], len(examples.queries))
    per_epoch = len(examples.queries) // size  # what does not fill a batch is left for another epoch
    steps = min(settings["epochs"] * per_epoch, settings.get("max_steps", 2**31))
    warmup = settings["warmup"]
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=size,
        max_steps=steps,
        learning_rate=settings["learning_rate"],
        weight_decay=settings["weight_decay"],
        lr_scheduler_type="linear",
        warmup_steps=warmup["steps"] if "steps" in warmup else round(warmup["ratio"] * steps),
        max_grad_norm=settings["max_grad_norm"],
        optim="adamw_torch",
        seed=seed,
        data_seed=seed,
        batch_sampler=EpochSampler,
        dataloader_drop_last=True,
        dataloader_pin_memory=False,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="epoch",
        save_total_limit=2,  # the best and the last
        load_best_model_at_end=True,
        metric_for_best_model=WATCHED,
        greater_is_better=True,
        use_cpu=encoder.device == "cpu",
        report_to="none",
        disable_tqdm=True,
    )
    loss = InfoNCE(
        encoder,
        examples,
        temperature=settings["temperature"],
        mask=settings["mask_false_negatives"],
        shared=settings["shared_negatives"],
        precision=settings["precision"],
        cache=settings.get("gradient_cache"),
    )
    trainer = _Trainer(
        model=encoder.model,
        args=arguments,
        train_dataset=Dataset.from_dict({"label": list(range(len(examples.queries)))}),
        loss=loss,
        evaluator=_Evaluator(encoder, validation),
        callbacks=[_Patience(settings["patience"]), _Markers()],
        steps=steps,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


def _points(trainer: _Trainer, before: list[Point]) -> list[Point]:
    """The validation curve so far, after the point before training."""
    points, loss, rate = before[:1], None, None
    for entry in trainer.state.log_history:
        loss, rate = entry.get("loss", loss), entry.get("learning_rate", rate)
        if WATCHED in entry:
            points.append(Point(entry["epoch"], int(entry["step"]), entry[WATCHED], loss, rate))
    return points


class EpochSampler(DefaultBatchSampler):
    """Batches in an order that hangs on the seed and the epoch alone, so that a run can go on in the middle."""

    def __init__(self, dataset: Any, *, generator: torch.Generator, **given: Any):
        super().__init__(RandomSampler(dataset, generator=generator), generator=generator, **given)
        self.drawn = generator

    def __iter__(self) -> Any:
        self.drawn.manual_seed(self.seed + self.epoch)
        return super().__iter__()


class _Trainer(SentenceTransformerTrainer):
    """The trainer, with checkpoints that hold the trained parameters alone, and the decay of PyTorch's AdamW."""

    def __init__(self, *, steps: int, **given: Any):
        super().__init__(**given)
        self.steps = steps

    def get_decay_parameter_names(self, model: Any) -> list[str]:
        return [name for name, _ in model.named_parameters()]

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        folder = Path(output_dir or str(self.args.output_dir))
        folder.mkdir(parents=True, exist_ok=True)
        trained = {name: one.detach().contiguous() for name, one in self.model.named_parameters() if one.requires_grad}
        save_file(trained, folder / WEIGHTS)

    def _load_from_checkpoint(self, checkpoint_path: str, model: Any = None) -> None:
        trained = load_file(Path(checkpoint_path) / WEIGHTS, device="cpu")
        own = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, values in trained.items():
                own[name].copy_(values)

    def _load_best_model(self) -> None:
        """Nothing: ``fine_tune`` does it, for runs that have nothing left to train too."""

    def add_model_card_callback(self, *_: Any, **__: Any) -> None:
        """None: an account of the training lies beside the encoder."""


class _Evaluator(SentenceEvaluator):
    """The validation, as the trainer asks for it."""

    def __init__(self, encoder: TransformerEncoder, validation: Validation):
        super().__init__()
        self.encoder, self.validation = encoder, validation

    def __call__(self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1) -> dict:
        try:
            if not all(bool(torch.isfinite(values).all()) for values in self.encoder.model.parameters()):
                raise UserError("its weights are no numbers any more")
            value = self.validation.value(self.encoder)
        except UserError as error:  # before training it was sound
            raise UserError(
                f"training of '{self.encoder.name}' came apart before epoch {epoch:g}: {error.args[0]}",
                hint="set a lower `learning_rate`, a longer `warmup`, or `precision: float32`",
            ) from error
        log.info("%s: epoch %g, %s %.4f on validation", self.encoder.name, epoch, self.validation.measure, value)
        return {"validation": value}


class _Patience(TrainerCallback):
    """Stops a run that has brought nothing better for a while."""

    def __init__(self, patience: int):
        self.patience = patience

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        values = [entry[WATCHED] for entry in state.log_history if WATCHED in entry]
        points = [Point(0.0, 0, 0.0), *(Point(place, place, value) for place, value in enumerate(values, 1))]
        if is_over(points, self.patience):
            control.should_training_stop = True


class _Markers(TrainerCallback):
    """Marks each checkpoint that is whole."""

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        write_text(checkpoint / WHOLE, json.dumps(_sizes(checkpoint), indent=1) + "\n")


def _sizes(checkpoint: Path) -> dict[str, int]:
    """The files of a checkpoint and how long each is."""
    return {path.name: path.stat().st_size for path in sorted(checkpoint.iterdir()) if path.name != WHOLE}


def _is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint has all files that it was saved with, none cut: a kill may leave a part of one, when it is
    written and when it is removed."""
    try:
        return json.loads((checkpoint / WHOLE).read_text(encoding="utf-8")) == _sizes(checkpoint)
    except (OSError, ValueError):
        return False


def _last_whole(folder: Path) -> Path | None:
    """The last checkpoint that is whole, and with it the best so far; those of no use are removed."""
    found = {}
    for checkpoint in folder.glob("checkpoint-*"):
        if _is_whole(checkpoint):
            found[int(checkpoint.name.rpartition("-")[2])] = checkpoint
        else:
            shutil.rmtree(checkpoint)
    for step in sorted(found, reverse=True):
        state = json.loads((found[step] / "trainer_state.json").read_text(encoding="utf-8"))
        if state["best_global_step"] in found:
            return found[step]
        shutil.rmtree(found[step])
    return None
