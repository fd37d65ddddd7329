// Block principal pivoting on the optimality conditions of ``coupled``'s problem, with a pull to a centre:
//
//     min  z' P z + sum_j phi_j(z_j) + pull_j (z_j - centre_j)^2
//     s.t.  A z >= r  (the first ``equal`` rows: A z = r),   lower <= z <= upper.
//
// A feature is on one of five pieces, a row is active or not. Given these, the conditions are one linear system. It is solved
// by a narrow Cholesky factor of the free features and a small orthogonal basis of the active rows. Features and rows on the
// wrong piece switch simultaneously as long as the number of wrong ones decreases, else one at a time. When none is wrong, the
// point is optimal.
#pragma once

#include "quadratic/program.hpp"

namespace counterleaf {

/// Pivot from a state, which gets the last pieces, multipliers and point. Cut: the bound exceeds ``cut``.
///
/// The bound is the best one of all steps, proved by ``proof``.
QuadraticBound pivot(const QuadraticProgram& program, Constants centre, double limit, const QuadraticState& state,
                     const QuadraticProof& proof, Scratch& scratch, const Stop& stop);

/// Solve once on the pieces of a state and on its rows that have a multiplier or no room, whether or not these are the right
/// ones; false if that system is singular.
bool solve_on_pieces(const QuadraticProgram& program, Constants centre, const QuadraticState& state, Scratch& scratch);

}  // namespace counterleaf
