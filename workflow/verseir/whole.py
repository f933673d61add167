"""Options that count something: a whole number of at least 1."""

import argparse


def at_least_one(text: str) -> int:
    """The type of an option such as ``--cores``, for argparse.

    Raises:
        argparse.ArgumentTypeError: where it is none.
    """
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return value
