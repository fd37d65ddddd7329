// The numbers that a feature with a step may take: the multiples of numerator / denominator, and the number of the source.
#pragma once

#include <cmath>

#include "base/numbers.hpp"

namespace counterleaf {

struct Step {
    double numerator = 0.0, denominator = 1.0;  // numerator = 0: any number

    bool is_free() const { return numerator == 0.0; }

    /// The smallest such number at or above ``value``.
    double above(double source, double value) const {
        constexpr double WHOLE = 9007199254740992.0;  // 2^53: above it the grid is finer than floats
        if (numerator == 0.0 || std::fabs(value) * denominator >= WHOLE * numerator) return value;
        double k = std::ceil(value / numerator * denominator) + 0.0;  // not -0.0
        while (k * numerator / denominator < value) k += 1.0;
        while ((k - 1.0) * numerator / denominator >= value) k -= 1.0;
        const double point = k * numerator / denominator;
        return value <= source && source < point ? source : point;
    }
    /// The largest such number at or below ``value``.
    double below(double source, double value) const { return 0.0 - above(-source, -value); }  // not -0.0
    /// The next such number above ``value``.
    double after(double source, double value) const { return above(source, std::nextafter(value, INF)); }
    /// The last such number below ``value``.
    double before(double source, double value) const { return below(source, std::nextafter(value, -INF)); }
};

}  // namespace counterleaf
