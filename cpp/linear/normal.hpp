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

/// ``gradient`` has an entry per row of A, ``step`` one per chosen row; ``R`` is room for the factor. Returns false if the rows
/// are nearly dependent: then the factor comes from Gram-Schmidt, since the product squares their angle away.
bool solve_normal(const NormalEquations& equations, Constants gradient, Numbers step, const Grid& R, Scratch& scratch);

}  // namespace counterleaf
