// A primal-dual interior point method for the quadratic problem: slower than pivoting, for regions where pivoting cycles.
//
// A feature with a kink, or with different curves up and down, is the difference of two nonnegative halves, z = u - v.
// Eliminating their Newton steps leaves 2 P + E on the features with a diagonal E, which is as narrow as P. The m rows add a
// dense system of m equations. Steps are Mehrotra's predictor and corrector with one factor. A small proximal term makes them
// robust against a singular P and dependent rows.
#pragma once

#include "quadratic/pivots.hpp"

namespace counterleaf {

/// Write a point near the optimum with its multipliers and the pieces that they indicate. Returns false if the method fails.
bool find_interior(const QuadraticProgram& program, const QuadraticState& found, Scratch& scratch, const Stop& stop);

}  // namespace counterleaf
