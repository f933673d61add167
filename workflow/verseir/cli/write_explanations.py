"""Have a language model write one explanation for each verse of a corpus."""

import argparse
import json

from verseir.faults import UserError
from verseir.judging.explain import EXPLANATION_REJECTS, explain
from verseir.judging.models import model_of
from verseir.judging.prompts import read_prompt
from verseir.tables import EXPLANATIONS, POEMS, read_table, write_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--source", required=True, help="the name under which the explanations go")
    parser.add_argument("--poems", required=True)
    parser.add_argument("--spec", required=True, type=json.loads, help="JSON: prompt, endpoint or model, poems")
    parser.add_argument("--seed", required=True, type=int, help="of the draw of poems")
    parser.add_argument("--output", required=True)
    parser.add_argument("--rejects", required=True)


def run(args: argparse.Namespace) -> None:
    prompt = read_prompt(args.spec["prompt"], "explain")
    poems = read_table(args.poems, POEMS)
    model = model_of(args.spec)
    explained = explain(poems, args.source, prompt, model, args.spec.get("poems"), args.seed)
    advice = model.tally.advice("write_explanations")
    if explained.n_verses and explained.explanations.is_empty():
        raise UserError(
            f"explanations.{args.source}: no verse of {args.corpus} got an explanation from {model.name}: "
            f"{explained.summary}{advice}",
            hint="see the prompt, max_tokens and the model",
        )
    write_table(explained.explanations, args.output, EXPLANATIONS)
    write_table(explained.rejects, args.rejects, EXPLANATION_REJECTS)
    print(f"{args.corpus}, {args.source}: {explained}\n  {model.tally}{advice}")
    if model.cost is not None:
        print(f"  cost {model.cost:.4f}")
