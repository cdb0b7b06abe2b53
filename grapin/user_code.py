"""Code of the user's own: `FILE.py` is what running the file gives, `FILE.py:NAME` what it calls by that name."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from grapin.errors import InvalidArgument

_FILE = re.compile(r"(?P<path>.+\.py)(:(?P<name>\w+))?")


def is_user_code(given: str) -> bool:
    """Tell whether this points into a Python file."""
    return _FILE.fullmatch(given) is not None


def file_of(given: str) -> Path:
    """Return the file that this points into."""
    found = _FILE.fullmatch(given)
    assert found is not None
    return Path(found["path"])


def load_user_code(argument: str, given: str) -> Any:
    """Run the file and return the module, or what it calls by the name that is asked for."""
    found = _FILE.fullmatch(given)
    assert found is not None
    if not Path(found["path"]).is_file():
        raise InvalidArgument(f"{argument}={given!r} must name a file that exists")
    try:
        module = _run(found["path"])
    except (Exception, SystemExit) as error:
        raise InvalidArgument(f"{argument}={given!r} must run: {type(error).__name__}: {error}") from error
    if found["name"] is None:
        return module
    if not hasattr(module, found["name"]):
        raise InvalidArgument(f"{argument}={given!r} must be found: the file has no {found['name']!r}")
    return getattr(module, found["name"])


def _run(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
