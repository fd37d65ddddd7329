// The factor by which multipliers must be scaled so that no unbounded feature gains by moving away.
//
// On an unbounded flat piece the price must not exceed the slope; otherwise the multipliers prove the bound minus infinity.
// Prices are known only up to rounding, so optimal multipliers are often slightly too large.
#pragma once

#include "base/rounding.hpp"
#include "question/phi.hpp"

namespace counterleaf {

class MultiplierScale {
public:
    /// Add a number whose price is known up to ``error`` and which may move up to ``upper`` and down to ``lower``. Returns
    /// false if no multiple of the price is possible.
    bool add(const Phi& phi, double price, double error, double lower, double upper) {
        bool fits = true;
        if (upper == INF && phi.curve_up == 0.0) fits = fit(phi.slope_up, price + error) && fits;
        if (lower == -INF && phi.curve_down == 0.0) fits = fit(-phi.slope_down, error - price) && fits;
        return fits;
    }

    /// The factor that suits every number; 1 if the multipliers already do, NaN if there is no such factor.
    double factor() const {
        if (least_ <= 1.0 && 1.0 <= most_) return 1.0;
        const double share = most_ < 1.0 ? most_ * (1.0 - 4.0 * ROUND) : least_ * (1.0 + 4.0 * ROUND);
        return least_ <= share && share <= most_ ? share : NONE;
    }

private:
    /// Whether some multiple of ``price`` is at most ``slope``.
    bool fit(double slope, double price) {
        if (price <= slope) return true;
        if (slope > 0.0) most_ = std::min(most_, slope / price);
        if (slope < 0.0 && price < 0.0) least_ = std::max(least_, slope / price);
        return slope > 0.0 || (slope < 0.0 && price < 0.0);
    }

    double least_ = 0.0, most_ = INF;
};

}  // namespace counterleaf
