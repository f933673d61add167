"""Tests run offline and repeat exactly."""

import os

from hypothesis import settings

os.environ["HF_HUB_OFFLINE"] = "1"

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
