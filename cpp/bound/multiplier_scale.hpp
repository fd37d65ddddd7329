// By how much multipliers must shrink, or grow, so that no number that can move without end earns by it.
//
// A flat piece without a bound needs a price at most as steep as its slope; else the bound that the multipliers prove is minus
// infinity. Prices are known to rounding only, so that multipliers at their best are a hair too large.
#pragma once

#include "base/rounding.hpp"
#include "question/phi.hpp"

namespace counterleaf {

/// What multipliers prove in real arithmetic, whatever rounding did.
struct ProvedBound {
    double value;
    double error;  // about what rounding took from it
    bool sure;     // false: but for prices that leave a slope by rounding, which would make it minus infinity
};

class MultiplierScale {
public:
    /// A number at a price that is known to ``error``, free to move up to ``upper`` and down to ``lower``. False if no multiple
    /// of the price will do.
    bool add(const Phi& phi, double price, double error, double lower, double upper) {
        bool fits = true;
        if (upper == INF && phi.curve_up == 0.0) fits = fit(phi.slope_up, price + error) && fits;
        if (lower == -INF && phi.curve_down == 0.0) fits = fit(-phi.slope_down, error - price) && fits;
        return fits;
    }

    /// The multiple of the multipliers that suits every number that they do not suit as they are; 1 if there is none, NaN if no
    /// multiple does.
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
