"""What the check of all inputs is told of a study: the options of the verb ``check_inputs``."""

from __future__ import annotations

from verseir.config import canonical
from verseir.study import Study


def check_options(study: Study, models_later: bool = False) -> list[str]:
    """The options for ``study``. ``models_later``: its models need not be at hand yet."""
    sections = {"--corpora": "corpora", "--query-sets": "query_sets", "--modes": "modes", "--keep": "keep"}
    options = [part for option, name in sections.items() for part in (option, canonical(study.spec[name]))]
    options += ["--depth", str(study.spec["depth"]), "--measures", *study.spec["measures"]]
    options += ["--judging", canonical(study.judging), "--packages", canonical(study.spec["packages"])]
    options += ["--published", study.analyses.get("published", {}).get("file", "")]
    options += [
        "--encoders",
        canonical([study.registry[name] for name in study.systems("dense") if name not in study.trained]),
    ]
    options += ["--output", f"results/{study.name}/inputs.json"]
    return options + (["--models-later"] if models_later else [])
