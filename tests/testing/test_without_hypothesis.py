"""What `grapin.testing` says where Hypothesis is not installed."""

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["hypothesis"] = None
import grapin.testing
from grapin import MissingDependency
with grapin.testing.poisoned_memory():
    pass
for name in ("graphs", "batches", "StoreMachine", "invalid_batches"):
    try:
        getattr(grapin.testing, name)
    except MissingDependency as error:
        print(error)
"""


def test_strategies_say_what_to_install_and_the_rest_works_without_hypothesis() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        f"grapin.testing.{name} needs Hypothesis: pip install 'grapin[testing]'"
        for name in ("graphs", "batches", "StoreMachine", "invalid_batches")
    ]
