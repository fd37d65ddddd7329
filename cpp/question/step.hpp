// The numbers that a feature with a step may take: the multiples of over / under, and the source's own number.
#pragma once

#include <cmath>

#include "base/numbers.hpp"

namespace counterleaf {

struct Step {
    double over = 0.0, under = 1.0;  // over = 0: any number will do

    bool is_free() const { return over == 0.0; }

    /// The least such number at or above ``value``.
    double above(double own, double value) const {
        constexpr double WHOLE = 9007199254740992.0;  // 2^53: beyond it floats are no finer than the grid
        if (over == 0.0 || std::fabs(value) * under >= WHOLE * over) return value;
        double k = std::ceil(value / over * under) + 0.0;  // not -0.0
        while (k * over / under < value) k += 1.0;
        while ((k - 1.0) * over / under >= value) k -= 1.0;
        const double point = k * over / under;
        return value <= own && own < point ? own : point;
    }
    /// The greatest such number at or below ``value``.
    double below(double own, double value) const { return 0.0 - above(-own, -value); }  // not -0.0
    /// The next such number above ``value``.
    double after(double own, double value) const { return above(own, std::nextafter(value, INF)); }
    /// The last such number below ``value``.
    double before(double own, double value) const { return below(own, std::nextafter(value, -INF)); }
};

}  // namespace counterleaf
