"""Low-rank adapters in place of full training (LoRA; Hu et al. 2021, arXiv:2106.09685)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verseir.faults import UserError


class Adapters:
    """Adapters in the backbone of an encoder; everything else is frozen until they are merged.

    Raises:
        UserError: the backbone has no module of the names in ``targets``.
    """

    def __init__(self, model: Any, settings: Mapping[str, Any], name: str):
        from peft import LoraConfig, LoraModel

        self.model = model
        self.frozen = [parameter for parameter in model.parameters() if parameter.requires_grad]
        configuration = LoraConfig(
            r=settings["rank"],
            lora_alpha=settings["alpha"],
            lora_dropout=settings["dropout"],
            target_modules=settings["targets"],
        )
        try:
            self.lora = LoraModel(model[0].auto_model, {"default": configuration}, "default")
        except ValueError as error:
            linear = {
                part.rpartition(".")[2] for part, module in model.named_modules() if hasattr(module, "in_features")
            }
            raise UserError(
                f"no adapter fits '{name}': {error}",
                hint=f"`lora.targets` is `all-linear` or names of its linear layers: {', '.join(sorted(linear))}",
            ) from error
        trained = {id(parameter) for key, parameter in model.named_parameters() if "lora_" in key}
        for parameter in self.frozen:
            parameter.requires_grad_(id(parameter) in trained)

    def merge(self) -> None:
        """Add what the adapters learned to the weights, and take them out."""
        self.lora.merge_and_unload()
        for parameter in self.frozen:
            parameter.requires_grad_(True)
