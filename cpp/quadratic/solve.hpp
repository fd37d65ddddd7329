// The bound of one region where the cost couples features: by pivoting, by an interior point method where pivoting fails, and
// by the simplex method to prove that the region is empty.
#pragma once

#include "quadratic/pivots.hpp"
#include "quadratic/program.hpp"

namespace counterleaf {

/// Solve ``program`` from a warm start; ``state`` receives the result. ``proof`` proves the bound for every status.
///
/// Converged: ``state.z`` costs what is proved, or a feature is at its horizon. AboveLimit: the bound exceeds ``limit``, and
/// the solver stopped. Infeasible: ``state.lam`` is a Farkas vector. Stuck: none of these, or ``stop`` returned true. ``runs``:
/// the cost of some feature decreases without end, so that only a horizon stops it.
QuadraticBound solve_quadratic(const QuadraticProgram& program, double limit, bool runs, const QuadraticState& state,
                               const QuadraticProof& proof, Scratch& scratch, const Stop& stop);

}  // namespace counterleaf
