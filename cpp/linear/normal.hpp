// The normal equations of a Newton step:  (A_F D A_F' + damping I) step = gradient  on the chosen rows F.
#pragma once

#include "base/scratch.hpp"
#include "loops/loops.hpp"

namespace counterleaf {

struct NormalEquations {
    const Grid& A;
    Places chosen;
    Constants weight;  // D
    double damping;
};

/// ``gradient`` has one entry per row of A, ``step`` one per chosen row; ``R`` is memory for the factor. Returns false if the
/// rows are nearly dependent. The factor then comes from Gram-Schmidt, because the product squares the condition number.
bool solve_normal(const NormalEquations& equations, Constants gradient, Numbers step, const Grid& R, Scratch& scratch);

}  // namespace counterleaf
