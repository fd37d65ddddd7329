// Multipliers and a point, moved as little as possible so that the price of every free feature equals its slope:
//
//     (A' lam - 2 P z)_j = phi_j'(z_j)   where z_j is free.
//
// On an unbounded free feature without curvature, any residual would make the proved bound minus infinity.
#pragma once

#include "quadratic/program.hpp"

namespace counterleaf {

/// Write the balanced multipliers and point of ``state`` to ``proof``; once ``stop`` returns true, write those of ``state``
/// unchanged.
void balance(const QuadraticProgram& program, const QuadraticState& state, const QuadraticProof& proof, Scratch& scratch,
             const Stop& stop);

}  // namespace counterleaf
