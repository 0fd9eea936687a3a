"""What callers give: whole numbers, numbers, texts, checked with the sentences of the command."""
import operator
import secrets

import numpy as np

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
MOST_THREADS = 1024
MOST = 2**64 - 1  # of a seed, of a stream and of a round


def whole(name, value, least=0, most=None):
    """A whole number from least to most."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number, {least} or more.") from None
    if number < least:
        raise ValueError(f"{name} is {number}; it must be a whole number, {least} or more.")
    if most is not None and number > most:
        raise ValueError(f"{name} is {number}; it must be at most {most}.")
    return number


def real(name, value):
    """A number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} is {value!r}; it must be a number.") from None


def text(name, value):
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; it must be text.")
    return value


def flag(name, value):
    if not isinstance(value, (bool, np.bool_, int)) or value not in (0, 1):
        raise TypeError(f"{name} is {value!r}; it must be True or False.")
    return bool(value)


def one_of(name, value, words, told=str):
    """One of some words, which the sentence shows as told() writes them."""
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{name} is {value!r}; it must be {', '.join(map(told, words[:-1]))} or {told(words[-1])}.")
    return value


def threads_of(value):
    return whole("threads", value, 0, MOST_THREADS)


def round_of(value):
    return whole("round", value, 0, MOST)


def seed_of(value):
    """A seed; a new one every time for None."""
    return secrets.randbits(63) if value is None else whole("seed", value, 0, MOST)


def shape_of(name, value):
    """A length, or a sequence of lengths, as a tuple."""
    try:
        lengths = [value] if isinstance(value, str) or np.ndim(value) == 0 else list(value)
    except (TypeError, ValueError):
        lengths = [value]
    return tuple(whole(name, length, 0, 2**62) for length in lengths)


def float_type(dtype):
    """float32 or float64."""
    kind = np.dtype(dtype)
    if kind not in _FLOATS:
        raise TypeError(f"dtype is {kind}; it must be float32 or float64.")
    return kind
