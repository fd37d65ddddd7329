"""How kernels are compiled: cached on disk, without the interpreter's lock, IEEE arithmetic as written.

``error_model="numpy"`` makes a division by zero an infinity, not an exception: less code, faster to compile.
No fastmath, but for ``summing``: exactness is the product.
"""

from typing import Any

from numba import njit

kernel: Any = njit(cache=True, nogil=True, error_model="numpy")

# For small kernels that take arrays: called, they would count a reference to each of them up and down, which can take longer
# than what they do.
inlined: Any = njit(cache=True, nogil=True, error_model="numpy", inline="always")

# For sums over features inside an iteration: they may be added up in any order, several at a time. No proof rests on them.
summing: Any = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
