# The compiled part, which is for the package alone.
from typing import Any

def __getattr__(name: str) -> Any: ...
