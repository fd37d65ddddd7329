// Multipliers and a point of ``coupled``'s problem, moved as little as makes every free feature's price meet its slope:
//
//     (A' lam - 2 P z)_j = phi_j'(z_j)   where z_j is free.
//
// On a feature that is free, unbounded and without curvature any residual would void a proof.
#pragma once

#include "quadratic/program.hpp"

namespace counterleaf {

/// Write the balanced multipliers and point of ``state`` into ``proof``, or those of ``state`` as they are once ``stop`` holds.
void balance(const QuadraticProgram& program, const QuadraticState& state, const QuadraticProof& proof, Scratch& scratch,
             const Stop& stop);

}  // namespace counterleaf
