// The cost phi(d) of one feature, convex with a kink at d = 0, and its response to a price.
//
//     phi(d) = curve_up d^2 + slope_up d      for d >= 0
//     phi(d) = curve_down d^2 + slope_down d  for d <= 0,      slope_down <= slope_up.
//
// L1, squared L2, their sums, different weights up and down, and linear terms all have this form.
#pragma once

#include <cmath>

#include "base/numbers.hpp"

namespace counterleaf {

struct Phi {
    double curve_up, slope_up, curve_down, slope_down;

    double operator()(double d) const {
        if (d > 0.0) return (curve_up * d + slope_up) * d;
        if (d < 0.0) return (curve_down * d + slope_down) * d;
        return 0.0;
    }

    /// The sum of the absolute values of the terms of phi(d).
    double size(double d) const {
        const double curve = d > 0.0 ? curve_up : curve_down, slope = d > 0.0 ? slope_up : slope_down;
        return (std::fabs(curve * d) + std::fabs(slope)) * std::fabs(d);
    }

    /// The minimiser of phi(d) - price d over [lower, upper]; among several, the one nearest to 0.
    double respond(double price, double lower, double upper) const {
        double d = 0.0;
        if (price > slope_up) d = curve_up > 0.0 ? (price - slope_up) / (2.0 * curve_up) : INF;
        if (price < slope_down) d = curve_down > 0.0 ? (price - slope_down) / (2.0 * curve_down) : -INF;
        return d < lower ? lower : d > upper ? upper : d;
    }
};

}  // namespace counterleaf
