// The inverse of a small dense matrix.
#pragma once

#include "loops/loops.hpp"

namespace counterleaf {

/// Gauss-Jordan elimination with partial pivoting on the first k rows and columns. Overwrites B. Returns false if B is singular
/// to rounding.
bool invert(Grid B, std::size_t k, Grid out);

}  // namespace counterleaf
