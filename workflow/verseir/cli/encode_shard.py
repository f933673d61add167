"""Encode one share of the texts of a corpus and its queries: one of several jobs that do together what one would."""

import argparse
import json

from verseir.atomic import write_text
from verseir.cli.encode_texts import add_text_arguments, read_texts, tell_part
from verseir.faults import UserError
from verseir.systems.devices import claim_device
from verseir.systems.encode_step import empty_part, encode_share, share_of
from verseir.systems.identity import identify
from verseir.systems.loading import load_encoder
from verseir.systems.registry import can_use_gpu


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_text_arguments(parser)
    parser.add_argument("--shard", required=True, type=int, help="which share, from 1 on")
    parser.add_argument("--shards", required=True, type=int, help="the number of jobs")
    parser.add_argument("--output", required=True)
    parser.add_argument("--cost", required=True)


def run(args: argparse.Namespace) -> None:
    if not 1 <= args.shard <= args.shards:
        raise UserError(f"there is no share {args.shard} of {args.shards}", hint="--shard counts from 1 to --shards")
    texts = read_texts(args)
    identity = identify(args.entry)
    blocks, share = share_of(identity, texts, args.shard, args.shards)
    if any(share.values()) or args.shard == 1:
        with claim_device(gpus=args.gpus, useful=can_use_gpu(args.entry)) as device:
            part = encode_share(load_encoder(args.entry, device), texts, blocks, share)
    else:
        part = empty_part(identity)
    tell_part(args, part, f"{args.system} on {args.corpus}, share {args.shard} of {args.shards}")
    write_text(args.output, json.dumps(part, indent=1, ensure_ascii=False) + "\n")
