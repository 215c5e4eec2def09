"""Numbers for names: a hash table over their bytes, and their order.

Names lie one after the other in ``content``; name ``n`` begins at ``starts[n]``, and the entry behind the last one says
where that one ends. 4 bytes say where a name begins, or 8 where these are too few. The table has open addressing: a
slot holds a number plus one, or 0. It stores no hash: growing reads the names again, which costs time once and never
memory.

Whoever writes a file chooses its names. The hash is SipHash-1-3 with a key that is drawn for each table, so nobody can
choose names that meet in one slot; the pivots of the sort are drawn too. Neither changes a number or an order.
"""

from typing import Any, TypeAlias

import numpy as np

from discreet.kernels.compiling import njit
from discreet.types import AnyArray, Indices, Offsets

Word: TypeAlias = Any
"""64 bits without a sign: ``np.uint64``, which numba has for them where Python has ``int``."""
TAKEN, GONE = 1, 2
"""Of a name that was taken out: its bytes are still there, or are overwritten."""
LETTERS = 7  # bytes of a name in one key of the sort; the eighth says whether the name ends there
FEW = 24  # so many keys are sorted by insertion


@njit(cache=True)
def _start(starts: AnyArray, name: int) -> int:
    """Where a name begins, as a number with a sign: of those without, numba makes numbers in floating point."""
    return np.int64(starts[name])  # type: ignore[return-value]


# ── Hashing ──


@njit(cache=True)
def _round(a: Word, b: Word, c: Word, d: Word) -> tuple[Word, Word, Word, Word]:
    a += b
    b = ((b << np.uint64(13)) | (b >> np.uint64(51))) ^ a
    a = (a << np.uint64(32)) | (a >> np.uint64(32))
    c += d
    d = ((d << np.uint64(16)) | (d >> np.uint64(48))) ^ c
    a += d
    d = ((d << np.uint64(21)) | (d >> np.uint64(43))) ^ a
    c += b
    b = ((b << np.uint64(17)) | (b >> np.uint64(47))) ^ c
    c = (c << np.uint64(32)) | (c >> np.uint64(32))
    return a, b, c, d


@njit(cache=True)
def siphash(content: AnyArray, first: int, end: int, key: AnyArray) -> Word:
    """SipHash-1-3 of some bytes, with a key of two words.

    >>> hex(siphash(np.arange(15, dtype=np.uint8), 0, 15, np.arange(16, dtype=np.uint8).view(np.uint64)))
    '0xd320d86d2a519956'
    """
    a = key[0] ^ np.uint64(0x736F6D6570736575)
    b = key[1] ^ np.uint64(0x646F72616E646F6D)
    c = key[0] ^ np.uint64(0x6C7967656E657261)
    d = key[1] ^ np.uint64(0x7465646279746573)
    at = first
    while at + 8 <= end:
        word = np.uint64(0)
        for place in range(8):
            word |= np.uint64(content[at + place]) << np.uint64(8 * place)
        d ^= word
        a, b, c, d = _round(a, b, c, d)
        a ^= word
        at += 8
    word = np.uint64(end - first) << np.uint64(56)
    for place in range(end - at):
        word |= np.uint64(content[at + place]) << np.uint64(8 * place)
    d ^= word
    a, b, c, d = _round(a, b, c, d)
    a ^= word
    c ^= np.uint64(0xFF)
    for _ in range(3):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d


@njit(cache=True)
def _same(one: AnyArray, at: int, other: AnyArray, beside: int, size: int) -> bool:
    for place in range(size):  # noqa: SIM110
        if one[at + place] != other[beside + place]:
            return False
    return True


# ── Numbering ──


@njit(cache=True)
def number(
    rows: AnyArray,
    bounds: Offsets,
    row: int,
    table: Indices,
    content: AnyArray,
    starts: Offsets,
    size: int,
    key: AnyArray,
    numbers: Indices,
) -> tuple[int, int]:
    """Number the names between ``bounds`` in ``rows`` from ``row`` on: known ones as before, new ones behind ``size``.

    Returns the row that it came to and how many names there are now. It stops before the table is more than half full.
    There must be room in ``content`` and ``starts`` for all of them.
    """
    mask = np.uint64(len(table) - 1)
    while row < len(bounds) - 1:
        first, length = bounds[row], bounds[row + 1] - bounds[row]
        if row and bounds[row] - bounds[row - 1] == length and _same(rows, first, rows, bounds[row - 1], length):
            numbers[row] = numbers[row - 1]
            row += 1
            continue
        slot = siphash(rows, first, first + length, key) & mask
        while True:
            found = table[slot] - 1
            if found < 0:
                if 2 * size >= len(table):
                    return row, size
                found = size
                begin = _start(starts, size)
                for place in range(length):
                    content[begin + place] = rows[first + place]
                starts[size + 1] = begin + length
                size += 1
                table[slot] = size
                break
            begin = _start(starts, found)
            if _start(starts, found + 1) - begin == length and _same(rows, first, content, begin, length):
                break
            slot = (slot + np.uint64(1)) & mask
        numbers[row] = found
        row += 1
    return row, size


@njit(cache=True)
def find(
    rows: AnyArray, bounds: Offsets, table: Indices, content: AnyArray, starts: Offsets, key: AnyArray, numbers: Indices
) -> None:
    """The numbers of names, -1 for those that have none."""
    mask = np.uint64(len(table) - 1)
    for row in range(len(bounds) - 1):
        first, length = bounds[row], bounds[row + 1] - bounds[row]
        slot = siphash(rows, first, first + length, key) & mask
        while True:
            found = table[slot] - 1
            if found < 0:
                break
            begin = _start(starts, found)
            if _start(starts, found + 1) - begin == length and _same(rows, first, content, begin, length):
                break
            slot = (slot + np.uint64(1)) & mask
        numbers[row] = found


@njit(cache=True)
def fill(table: Indices, content: AnyArray, starts: Offsets, size: int, key: AnyArray) -> None:
    """Put distinct names into an empty table."""
    mask = np.uint64(len(table) - 1)
    for name in range(size):
        slot = siphash(content, _start(starts, name), _start(starts, name + 1), key) & mask
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = name + 1


# ── What names look like ──


@njit(cache=True)
def all_whole_numbers(content: AnyArray, starts: Offsets, first: int, size: int) -> bool:
    """Whether each name from ``first`` on consists of 1 to 18 digits."""
    for name in range(first, size):
        begin, end = _start(starts, name), _start(starts, name + 1)
        if not 1 <= end - begin <= 18:
            return False
        for place in range(begin, end):
            if not 48 <= content[place] <= 57:
                return False
    return True


@njit(cache=True)
def digits_before_zeros(content: AnyArray, starts: Offsets, size: int, found: Indices, digits: Indices) -> int:
    """How many names are digits, a point, and zeros; where there is room they go to ``found``, with how many digits."""
    count = 0
    for name in range(size):
        first, end = _start(starts, name), _start(starts, name + 1)
        at = end
        while at > first and content[at - 1] == 48:
            at -= 1
        if at == end or at - first < 2 or content[at - 1] != 46:
            continue
        at -= 1
        whole = True
        for place in range(first, at):
            whole = whole and 48 <= content[place] <= 57
        if whole:
            if count < len(found):
                found[count], digits[count] = name, at - first
            count += 1
    return count


# ── Sorting ──


@njit(cache=True)
def _value(content: AnyArray, first: int, end: int) -> Word:
    value = np.uint64(0)
    for place in range(first, end):
        value = value * np.uint64(10) + np.uint64(content[place] - 48)
    return value


@njit(cache=True)
def _letters(content: AnyArray, first: int, end: int) -> Word:
    """The next bytes of a name as a number that sorts alike; its last byte is how many there are, 8 for more than 7."""
    key = np.uint64(0)
    for place in range(LETTERS):
        key <<= np.uint64(8)
        if first + place < end:
            key |= np.uint64(content[first + place])
    return (key << np.uint64(8)) | np.uint64(min(end - first, LETTERS + 1))


@njit(cache=True)
def _sort_keys(keys: AnyArray, order: Indices, first: int, end: int, state: AnyArray) -> None:
    """Quicksort of a stretch of keys, with what belongs to them; pivots at random."""
    waiting = np.empty((64, 2), np.int64)
    waiting[0, 0], waiting[0, 1] = first, end
    count = 1
    while count:
        count -= 1
        low, high = waiting[count, 0], waiting[count, 1]
        while high - low > FEW:
            state[0] ^= state[0] << np.uint64(13)
            state[0] ^= state[0] >> np.uint64(7)
            state[0] ^= state[0] << np.uint64(17)
            pivot = keys[low + np.int64(state[0] % np.uint64(high - low))]
            left, right = low, high - 1
            while left <= right:
                while keys[left] < pivot:
                    left += 1
                while keys[right] > pivot:
                    right -= 1
                if left <= right:
                    keys[left], keys[right] = keys[right], keys[left]
                    order[left], order[right] = order[right], order[left]
                    left += 1
                    right -= 1
            if right + 1 - low < high - left:  # the longer part waits: at most 64 do
                waiting[count, 0], waiting[count, 1] = left, high
                high = right + 1
            else:
                waiting[count, 0], waiting[count, 1] = low, right + 1
                low = left
            count += 1
        for place in range(low + 1, high):
            key, name, at = keys[place], order[place], place
            while at > low and keys[at - 1] > key:
                keys[at], order[at] = keys[at - 1], order[at - 1]
                at -= 1
            keys[at], order[at] = key, name


@njit(cache=True)
def sort_names(content: AnyArray, starts: Offsets, order: Indices, by_value: bool, state: AnyArray) -> None:
    """Put the names in ``order`` in order: by spelling, or by value and then by spelling.

    Names with the same first letters are sorted by the next ones, and so on: each byte is looked at once for each time
    that keys are compared, however long what names have in common is.
    """
    keys = np.empty(len(order), np.uint64)
    waiting = np.empty((16, 3), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, len(order), -1 if by_value else 0
    count = 1
    fresh = True
    while count:
        low, high, depth = waiting[count - 1, 0], waiting[count - 1, 1], waiting[count - 1, 2]
        if fresh:
            same = True
            for place in range(low, high):
                begin, end = _start(starts, order[place]), _start(starts, order[place] + 1)
                if depth < 0:
                    keys[place] = _value(content, begin, end)
                else:
                    keys[place] = _letters(content, begin + depth, end)
                same = same and keys[place] == keys[low]
            if not same:
                _sort_keys(keys, order, low, high, state)
        fresh = False
        end = low
        while low < high:  # the first run of equal keys that is not in order yet
            end = low + 1
            while end < high and keys[end] == keys[low]:
                end += 1
            if end - low > 1 and (depth < 0 or keys[low] & np.uint64(255) > LETTERS):
                break
            low = end
        if low >= high:
            count -= 1
            continue
        waiting[count - 1, 0] = end
        if end == high:
            count -= 1
        if count == len(waiting):
            more = np.empty((2 * count, 3), np.int64)
            more[:count] = waiting
            waiting = more
        waiting[count, 0], waiting[count, 1], waiting[count, 2] = low, end, 0 if depth < 0 else depth + LETTERS
        count += 1
        fresh = True


@njit(cache=True)
def is_in_order(order: Indices) -> bool:
    """Whether every name is at its place."""
    for place in range(len(order)):  # noqa: SIM110
        if order[place] != place:
            return False
    return True


# ── Moving names to their places ──


@njit(cache=True)
def new_bounds(starts: Offsets, order: Indices, bounds: Offsets) -> None:
    """Where each name begins once they are in order."""
    bounds[0] = 0
    for place in range(len(order)):
        begin, end = _start(starts, order[place]), _start(starts, order[place] + 1)
        bounds[place + 1] = bounds[place] + end - begin


@njit(cache=True)
def take_out(
    content: AnyArray,
    starts: Offsets,
    marks: AnyArray,
    order: Indices,
    bounds: Offsets,
    first: int,
    end: int,
    taken: AnyArray,
) -> None:
    """Copy the names at some places in order to where they belong, and mark them."""
    for place in range(first, end):
        begin = _start(starts, order[place])
        for letter in range(bounds[place + 1] - bounds[place]):
            taken[bounds[place] + letter] = content[begin + letter]
        marks[order[place]] = TAKEN


@njit(cache=True)
def close_gaps(content: AnyArray, starts: Offsets, marks: AnyArray, size: int, used: int) -> int:
    """Move the names that are left to the front; returns how many bytes they take."""
    name, written = 0, 0
    while name < size and marks[name] == GONE:
        name += 1
    while name < size:
        behind = name + 1
        while behind < size and marks[behind] == GONE:
            behind += 1
        begin, end = _start(starts, name), used
        if behind < size:
            end = _start(starts, behind)
        if marks[name] == TAKEN:
            marks[name] = GONE
        else:
            starts[name] = written
            for place in range(begin, end):
                content[written] = content[place]
                written += 1
        name = behind
    return written
