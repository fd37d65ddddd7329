// A primal-dual interior point for ``coupled``'s problem: slower than pivoting, for regions where that cycles.
//
// A feature with a kink, or with different curves up and down, is the difference of two nonnegative halves, z = u - v. Their
// Newton steps are eliminated one by one, which leaves 2 P + E on the features, E diagonal: as narrow as P. What the m
// rows add is a dense system of m equations. Steps are Mehrotra's, predictor and corrector with one factor, regularised a
// little towards the last point, so that a singular P and dependent rows do no harm.
#pragma once

#include "quadratic/pivots.hpp"

namespace counterleaf {

/// Write a point, multipliers and the pieces that they suggest, near the optimum if all goes well. False if it fails.
bool find_interior(const QuadraticProgram& program, const QuadraticState& found, Scratch& scratch, const Stop& stop);

}  // namespace counterleaf
