"""The machine holds engines against the reference, and finds what is wrong with them."""

from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from grapin import WrongAnswer
from grapin.testing import EngineMachine, Setup

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


class Reference(EngineMachine):
    setup = Setup("sswp", "reference")
    hubs = False


class Forgetful(EngineMachine):
    setup = Setup("sssp", str(EXAMPLES / "forgetful_device.py"))
    hubs = False


TestReference = Reference.TestCase


def test_a_device_that_overlooks_weights_is_found_out() -> None:
    searching = settings(max_examples=300, phases=[Phase.generate], derandomize=True, database=None)
    with pytest.raises(WrongAnswer, match="expected"):
        run_state_machine_as_test(Forgetful, settings=searching)
