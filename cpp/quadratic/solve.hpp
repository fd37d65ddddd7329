// The bound of one region where the cost couples features: pivoting, an interior point where that does not settle it, and
// the simplex to find that the region is empty.
#pragma once

#include "quadratic/pivots.hpp"
#include "quadratic/program.hpp"

namespace counterleaf {

/// Solve ``program`` from a warm start; ``state`` gets the result. ``proof`` proves the bound, whatever the status.
///
/// Converged: ``state.z`` costs what is proved, or a feature is at its horizon. Cut: the bound exceeds ``cut``, which is all
/// that the caller wants to know. Infeasible: ``state.lam`` is a Farkas vector. Stuck: neither, or ``stop`` held. ``runs``:
/// some feature earns by moving away and only a horizon ends that.
QuadraticBound solve_quadratic(const QuadraticProgram& program, double limit, bool runs, const QuadraticState& state,
                               const QuadraticProof& proof, Scratch& scratch, const Stop& stop);

}  // namespace counterleaf
