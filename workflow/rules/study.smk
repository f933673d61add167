# The validated study and the names that all rules share.

import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "workflow"))

from verseir.check_options import check_options
from verseir.code import modules_of
from verseir.config import canonical, load_study
from verseir.construction import pooled_cross
from verseir.faults import InputFaults
from verseir.judging_faults import named_files
from verseir.labelling import judge_places, labelled_by, package_prompts
from verseir.layout import BM25_FILES, UNTUNED, cost_files, encoding_files, runs, scope_of, validated
from verseir.report.spoken import analysed_measures, main_measures, synthetic_sets
from verseir.study_faults import missing_files
from verseir.systems.registry import can_use_gpu
from verseir.written import without_written
from verseir.yaml_files import repeated_keys

# Rules call `python -m verseir`: of this environment, and of this checkout also where a rule has its own environment.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [sys.path[0], os.environ.get("PYTHONPATH")]))

# A quiet run (`--quiet`, `--quiet all`, `--quiet rules`) shows of what jobs print their faults alone: all of it is in the
# logs. An interrupt ends a job and not the `tee` beside it, so that the last words of the job are in its log. Bash takes
# this function from the environment: as a prefix of every command it would stand in every message of a failed job.
QUIET = {str(one).rpartition(".")[2].lower() for one in workflow.output_settings.quiet or ()} & {"all", "rules"}
FAULTS_ONLY = r"| sed -n '/^\(error in \|Traceback \)/,$p'" if QUIET else ""
os.environ["BASH_FUNC_tee%%"] = f'() {{ (trap "" INT; command tee "$@" {FAULTS_ONLY}); }}'

try:
    # Snakemake has read these files and kept the last of two equal keys: only the files themselves show both.
    repeated = [fault for path in workflow.configfiles for fault in repeated_keys(Path(path), str(path))]
    if repeated:
        raise InputFaults(repeated)
    study = load_study(config, Path.cwd(), where=", ".join(map(str, workflow.configfiles)) or "config")
    missing = missing_files(study, Path.cwd())
    if missing:
        raise InputFaults(missing)
except InputFaults as faults:
    raise WorkflowError(str(faults)) from None

RESULTS = f"results/{study.name}"

# What only people read in the registry.
FOR_PEOPLE = ("description", "languages", "licence", "parameters", "signal", "only", "as_published")


def one_of(names):
    """A wildcard constraint: exactly these names, or nothing where there are none."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"


def code(verb):
    """The modules that can change what a verb writes."""
    return [os.path.relpath(path) for path in modules_of(verb)]


def project_file(path):
    """A file of the project, as the working directory sees it."""
    return os.path.relpath(Path(workflow.basedir) / path)


def spec(section, name):
    """One corpus, mode or query set of the study, as a parameter that the order of its keys does not change."""
    return canonical(study.spec[section][name])


def corpus_spec(name):
    """One corpus, without the modes that it is indexed in, the audits of it and its licence: those do not change what is
    read."""
    given = without_written(study.spec["corpora"][name])
    return canonical({key: value for key, value in given.items() if key not in ("modes", "audits", "licence")})


def query_spec(name):
    """One query set, without how it is searched and what is made of its results: those do not change what is read."""
    later = ("corpora", "modes", "encoding", "validation", "strata", "within", "split")
    return canonical({key: value for key, value in study.spec["query_sets"][name].items() if key not in later})


def system_entry(name):
    """One system of the registry, as a parameter; what only people read in it re-runs nothing."""
    return canonical({key: value for key, value in study.registry[name].items() if key not in FOR_PEOPLE})


CROSS = canonical(study.cross)
# With the arms of fusions, which may be no systems of the study themselves: they have costs and encoders too.
WITH_ARMS = study.cross_of(study.systems())


wildcard_constraints:
    corpus=one_of(study.corpora),
    mode=one_of(study.modes),
    query_set=one_of(study.query_sets),
    system=one_of({*study.searched, *study.encoders}),
