"""`grapin run --cache`: what a cache of this size saves, in the record; what it cannot mean, in one sentence."""

import json
from typing import Any

import pytest

from grapin.cli.main import main

RUN = ["run", "rmat:8:8", "--batches", "3", "--batch-size", "20", "--device", "cpu", "--threads", "1"]


def record(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main([*RUN, *options, "--json", "-"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_run_with_a_cache_reads_the_same_and_sends_less(capsys: pytest.CaptureFixture[str]) -> None:
    plain = record(capsys)
    cached = record(capsys, "--cache", "100%")
    assert plain["cache"] is None
    assert cached["cache"]["policy"] == "adaptive"
    for without, with_cache in zip(plain["batches"], cached["batches"], strict=True):
        assert with_cache["edges_read"] == without["edges_read"]
        assert with_cache["link_bytes"] <= without["link_bytes"]
    sent = [sum(batch["link_bytes"] for batch in run["batches"]) for run in (plain, cached)]
    assert sent[1] < sent[0]


def test_a_size_that_is_none_is_refused_before_anything_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "no-such-file", "--cache", "ten"]) == 2
    assert "--cache ten must be" in capsys.readouterr().err
