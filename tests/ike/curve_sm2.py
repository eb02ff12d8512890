# SPDX-License-Identifier: Apache-2.0
"""Points of curveSM2 in plain numbers: slow, and independent of any library."""

from __future__ import annotations

# GB/T 32918.5-2017: the field, and the private key of user B in B.2, whose public key
# mgmt/strongswan-sm/tests/self_test.c has.
P = 0xFFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF00000000FFFFFFFFFFFFFFFF
USER_B = 0x81EB26E941BB5AF16DF116495F90695272AE2CD63D6C4AE1678418BE48230029
Point = tuple[int, int] | None


def plus(one: Point, other: Point) -> Point:
    """The sum; a of the curve is P - 3."""
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, P) if one == other else (y2 - y1) * pow(x2 - x1, -1, P)
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def times(n: int, point: Point) -> Point:
    made: Point = None
    for bit in f"{n:b}":
        made = plus(plus(made, made), point if bit == "1" else None)
    return made
