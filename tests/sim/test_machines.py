"""Machines: presets with sources, variants by dotted settings, files."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grapin.errors import GrapinError, InvalidArgument, InvalidFile
from grapin.figures import NO_SOURCE
from grapin.sim import MACHINES, Machine, find_machine
from grapin.sim.machine import PcieLink

V100 = MACHINES["v100"]

names = st.sampled_from(sorted(MACHINES))
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
settings = st.fixed_dictionaries(
    {},
    optional={
        "link.payload": st.sampled_from((128, 256, 512)),
        "link.round_trip": st.floats(1e-9, 1e-3),
        "gpu.memory": st.integers(1, 2**50),
        "gpu.bandwidth": st.floats(1.0, 1e14),
        "gpu.multiprocessors": st.integers(1, 1000),
        "host.bandwidth": st.floats(1.0, 1e13),
        "host.latency": st.floats(1e-9, 1e-3),
    },
)


def test_the_test_beds_of_the_papers_and_what_is_bought_today_have_names() -> None:
    papers = {"a5000", "a6000", "a100", "2080ti", "p100", "v100", "titan-xp"}
    today = {"h100", "h200", "b200", "rtx-4090", "rtx-5090", "gh200", "l40s"}
    assert set(MACHINES) == papers | today
    assert all(find_machine(name) is machine and machine.name == name for name, machine in MACHINES.items())
    assert find_machine(V100) is V100


def test_every_number_of_a_preset_says_where_it_comes_from_or_that_nobody_does() -> None:
    for machine in MACHINES.values():
        for role, part in machine.parts.items():
            own = {one.name.removeprefix(f"{role}.") for one in part.figures()}
            assert set(part.sources) <= own
            assert all(one.source != NO_SOURCE for one in part.figures()), machine.name


def test_one_number_of_all_presets_is_fitted() -> None:
    fitted = {
        (machine.name, one.name)
        for machine in MACHINES.values()
        for one in machine.figures()
        if "fitted" in one.source
    }
    assert fitted == {("v100", "link.round_trip")}


def test_what_has_no_source_is_known_as_such() -> None:
    figures = {one.name: one for one in V100.figures()}
    assert figures["gpu.memory"].sourced
    assert not figures["host.latency"].sourced
    assert figures["gpu.memory"].text == "16 GiB"
    assert figures["link.round_trip"].text == "1.73 us"
    assert figures["gpu.bandwidth"].text == "897 GB/s"


def test_a_setting_changes_a_number_and_all_that_follows_from_it() -> None:
    faster = V100.with_settings({"link.generation": "5", "gpu.memory": "16G", "link.round_trip": "1us"})
    assert isinstance(faster.link, PcieLink)
    assert faster.link.generation == 5
    assert faster.link.rate == pytest.approx(4 * V100.link.rate)
    assert faster.gpu.memory == 16 * 2**30
    assert faster.link.round_trip == 1e-6
    assert faster.link.sources["generation"] == "set by the user"
    assert faster.link.sources["lanes"] == V100.link.sources["lanes"]
    assert faster.name == "v100+link.generation=5+gpu.memory=16G+link.round_trip=1us"
    assert find_machine("v100") == MACHINES["v100"] != faster


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"generation": 5},
            "setting='generation' must name a part and a number of it, such as link.generation",
        ),
        ({"lnk.generation": 5}, "part='lnk' must be one of gpu, host, link .did you mean 'link'"),
        (
            {"link.generatoin": 5},
            "setting of the link='generatoin' must be one of .* .did you mean 'generation'",
        ),
        ({"link.generation": "five"}, "link.generation='five' must be one of 3, 4, 5, 6"),
        ({"gpu.memory": "lots"}, "gpu.memory='lots' must be a size of at least 1 byte, such as"),
        ({"gpu.memory": 0}, "gpu.memory=0 must be at least 1"),
        (
            {"gpu.bandwidth": "-1"},
            "gpu.bandwidth='-1' must be a rate from 1 B/s to 10.18 B/s, such as 900GB/s",
        ),
        ({"gpu.bandwidth": float("nan")}, "gpu.bandwidth=nan must be a rate from 1 B/s"),
        (
            {"link.round_trip": "soon"},
            "link.round_trip='soon' must be a time from 10.-15 s to 10 s, such as 1.7us",
        ),
        ({"link.round_trip": 0}, "link.round_trip=0 must be a time from"),
        ({"link.round_trip": 1e300}, "link.round_trip=1e.300 must be a time from"),
        ({"gpu.multiprocessors": 10**20}, "gpu.multiprocessors=1.* must be at most"),
        ({"gpu.name": "mine"}, "setting of the gpu='name' must be one of"),
    ],
)
def test_a_bad_setting_is_named_with_what_it_must_be(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        V100.with_settings(settings)


def test_a_chip_link_has_no_generation_to_set() -> None:
    with pytest.raises(
        InvalidArgument, match=r"setting of the link='generation' must be one of .*nominal_rate"
    ):
        find_machine("gh200").with_settings({"link.generation": 5})


@pytest.mark.parametrize(("name", "hint"), [("v10", "v100"), ("rtx4090", "rtx-4090"), ("H10O", "h100")])
def test_an_unknown_name_brings_the_nearest_one(name: str, hint: str) -> None:
    with pytest.raises(InvalidArgument, match=f"did you mean '{hint}'"):
        find_machine(name)


@example(name="v100", settings={"gpu.memory": 5}, own='a "b"\\', source="\x7f\n\x00")
@given(name=names, settings=settings, own=texts, source=texts)
def test_a_saved_machine_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, name: str, settings: dict[str, object], own: str, source: str
) -> None:
    machine = replace(MACHINES[name].with_settings(settings, source=source), name=own)
    path = tmp_path_factory.getbasetemp() / "machine.toml"
    machine.save(path)
    again = find_machine(path)
    assert again == machine
    assert list(again.figures()) == list(machine.figures())
    assert find_machine(str(path)) == machine


@given(names)
def test_machines_travel_between_processes_and_are_keys(name: str) -> None:
    machine = MACHINES[name]
    again = pickle.loads(pickle.dumps(machine))
    assert {again: 1}[machine] == 1
    assert list(again.figures()) == list(machine.figures())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("payload = 128", "payload = 100", "link.payload=100 must be one of 128, 256, 512"),
        ("payload = 128\nc", "c", r"\[link\] lacks payload$"),
        ("payload = 128", "paylaod = 128", "figure of the link='paylaod' must be .* .did you mean 'payload'"),
        ('kind = "pcie"', 'kind = "pci"', "link.kind='pci' must be one of nvlink-c2c, pcie"),
        ('kind = "pcie"\n', "", "link.kind='' must be one of"),
        ("[host]", "[guest]", r"\[host\] lacks name, bandwidth, access, latency$"),
        ("[host.sources]", "[host.source]", "figure of the host='source' must be one of"),
        ('access = "EMOGI', 'access = 3 # "', "host.sources.access=3 must be a text"),
        ('name = "v100"', "name = 100", "name=100 must be a text"),
        ("memory = 17179869184", 'memory = "lots"', "gpu.memory='lots' must be a whole number"),
        ("[link]", "[link", "is not a machine written as TOML"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    V100.save(path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidFile, match=message) as caught:
        Machine.load(path)
    assert str(caught.value).startswith(str(path))


BASED = """name = "ours"
base = "a5000"

[link]
generation = 5

[gpu]
memory = "48G"

[gpu.sources]
memory = "nvidia-smi"
"""


def test_a_file_may_take_from_a_preset_what_it_does_not_name(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(BASED, encoding="utf-8")
    machine = Machine.load(path)
    expected = MACHINES["a5000"].with_settings({"link.generation": 5, "gpu.memory": "48G"})
    assert machine == replace(expected, name="ours")
    sources = {one.name: one.source for one in machine.figures()}
    assert sources["gpu.memory"] == "nvidia-smi"
    assert sources["link.generation"] == "ours: its file does not say"
    assert sources["host.bandwidth"] == MACHINES["a5000"].host.sources["bandwidth"]


def test_a_table_may_have_one_source_for_its_numbers_and_another_name_for_its_part(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    part = 'name = "ours"\nbandwidth = "1TB/s"\nmultiprocessors = 80\nsource = "its maker"'
    sources = '[gpu.sources]\nbandwidth = "STREAM"\nlaunch = "timed"'
    path.write_text(f'name = "ours"\nbase = "a5000"\n[gpu]\n{part}\n{sources}\n', encoding="utf-8")
    machine = Machine.load(path)
    assert (machine.gpu.name, machine.gpu.bandwidth, machine.gpu.memory) == ("ours", 1e12, 24 * 2**30)
    told = {"bandwidth": "STREAM", "multiprocessors": "its maker", "launch": "timed"}
    assert machine.gpu.sources == {**MACHINES["a5000"].gpu.sources, **told}
    assert machine.link == MACHINES["a5000"].link


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"nvidia-smi"', "5", "gpu.sources.memory=5 must be a text"),
        ('memory = "nvidia-smi"', 'memry = "x"', "source of the gpu='sources.memry' must be .*did you mean"),
        ('memory = "48G"', "source = 3", "gpu.source=3 must be a text"),
        ('memory = "48G"', "name = 3", "gpu.name=3 must be a text"),
        ("generation = 5", 'name = "x"', "setting of the link='name' must be one of"),
        ('"a5000"', '"a500"', "base='a500' must be one of .* .did you mean 'a5000'"),
        ("[link]", "[lnk]", "table='lnk' must be one of gpu, host, link"),
        ("generation", "generations", "did you mean 'generation'"),
        ('"48G"', '"lots"', "gpu.memory='lots' must be a size"),
        ('base = "a5000"', "", "let base = name a preset that has the rest"),
    ],
)
def test_a_bad_file_with_a_base_is_named_with_what_is_wrong(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "bad.toml"
    assert old in BASED
    path.write_text(BASED.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidFile, match=message):
        Machine.load(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"link = 3", b"name = 'x'\n[link]\nkind = 'pcie'"])
def test_what_is_no_machine_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.toml"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=r"other\.toml: "):
        find_machine(str(path))
    with pytest.raises(GrapinError, match="there is no such file"):
        find_machine(tmp_path / "nowhere.toml")
