"""How kernels are compiled: cached on disk, without the interpreter's lock, IEEE arithmetic as written.

``error_model="numpy"`` makes a division by zero an infinity, not an exception: less code, faster to compile.
No fastmath, but for ``summing``: exactness is the product.

With ``NUMBA_DISABLE_JIT=1`` nothing is compiled and kernels run as plain Python: a first answer at once, each far slower.
"""

from typing import Any

import numba
import numpy as np

_njit: Any = numba.njit  # whose types do not know every option
_USUAL: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

kernel: Any = _njit(**_USUAL)

# For kernels that make no array and call none that does. A ``kernel`` counts a reference to each array it is given, up and down
# again, by instructions that stop the processor and that two threads fight over; in small ones that took longer than the work.
pure: Any = _njit(**_USUAL, _nrt=False)

# For what must be part of its caller: a kernel without counts may not return an array.
inlined: Any = _njit(**_USUAL, inline="always")

# For sums over features inside an iteration: they may be added up in any order, several at a time. No proof rests on them.
summing: Any = _njit(**_USUAL, _nrt=False, fastmath={"reassoc", "nsz"})

# Interpreted, NumPy would warn of what compiled code computes in silence: infinities that cancel, divisions by zero.
if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba makes it when it is imported
    kernel = pure = inlined = summing = np.errstate(all="ignore")
