// Block principal pivoting on the optimality conditions of the quadratic problem, with a pull to a centre:
//
//     min  z' P z + sum_j phi_j(z_j) + pull_j (z_j - centre_j)^2
//     s.t.  A z >= r  (the first ``equal`` rows: A z = r),   lower <= z <= upper.
//
// A feature is on one of five pieces, a row is active or not. On fixed pieces the conditions are one linear system, which is
// solved by a banded Cholesky factor of the free features and a small orthogonal basis of the active rows. Features and rows on
// the wrong piece switch simultaneously as long as the number of wrong ones decreases, and one at a time otherwise. When none
// is wrong, the point is optimal.
#pragma once

#include "quadratic/program.hpp"

namespace counterleaf {

/// Pivot from a state, which receives the last pieces, multipliers and point. AboveLimit: the bound exceeds ``limit``.
///
/// The bound is the best of all steps, proved by ``proof``.
QuadraticBound pivot(const QuadraticProgram& program, Constants centre, double limit, const QuadraticState& state,
                     const QuadraticProof& proof, Scratch& scratch, const Stop& stop);

/// Solve once on the pieces of a state and on its rows that have a multiplier or no room, even if these are wrong; returns
/// false if the system is singular.
bool solve_on_pieces(const QuadraticProgram& program, Constants centre, const QuadraticState& state, Scratch& scratch);

}  // namespace counterleaf
