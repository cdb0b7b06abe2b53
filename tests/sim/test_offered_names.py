"""What packages offer lazily stays what it is, whatever else has been imported."""

from importlib import import_module
from importlib.util import find_spec

import pytest


@pytest.mark.parametrize("package", ["grapin", "grapin.sim"])
def test_no_offered_name_is_hidden_by_a_module_of_the_same_name(package: str) -> None:
    homes = import_module(package)._HOMES
    assert [name for name in homes if find_spec(f"{package}.{name}") is not None] == []


@pytest.mark.parametrize("package", ["grapin", "grapin.sim"])
def test_every_offered_name_is_there(package: str) -> None:
    module = import_module(package)
    assert all(getattr(module, name) is not None for name in module.__all__)
    assert set(module._HOMES) <= set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing
