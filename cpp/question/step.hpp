// The numbers that a feature with a grid may take: the multiples of numerator / denominator or the numbers of a list, and the
// number of the source.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/numbers.hpp"

namespace counterleaf {

struct Step {
    double numerator = 0.0, denominator = 1.0;             // numerator = 0: any number, or those of the list
    std::shared_ptr<const std::vector<double>> list = {};  // in increasing order, not empty; null for multiples

    bool is_free() const { return numerator == 0.0 && list == nullptr; }

    /// The smallest such number at or above ``value``; infinity if there is none.
    double above(double source, double value) const {
        constexpr double WHOLE = 9007199254740992.0;  // 2^53: above it the grid is finer than floats
        if (list != nullptr) {
            const auto at = std::ranges::lower_bound(*list, value);
            return with(source, value, at == list->end() ? INF : *at);
        }
        if (numerator == 0.0 || std::fabs(value) * denominator >= WHOLE * numerator) return value;
        double k = std::ceil(value / numerator * denominator) + 0.0;  // not -0.0
        while (k * numerator / denominator < value) k += 1.0;
        while ((k - 1.0) * numerator / denominator >= value) k -= 1.0;
        return with(source, value, k * numerator / denominator);
    }
    /// The largest such number at or below ``value``; minus infinity if there is none.
    double below(double source, double value) const {
        if (list == nullptr) return 0.0 - above(-source, -value);  // not -0.0
        const auto at = std::ranges::upper_bound(*list, value);
        return 0.0 - with(-source, -value, at == list->begin() ? INF : -at[-1]);
    }

    /// The next such number above ``value``.
    double after(double source, double value) const { return above(source, std::nextafter(value, INF)); }
    /// The last such number below ``value``.
    double before(double source, double value) const { return below(source, std::nextafter(value, -INF)); }

private:
    /// The number of the source if it lies between ``value`` and the next point of the grid, else that point.
    static double with(double source, double value, double point) { return value <= source && source < point ? source : point; }
};

}  // namespace counterleaf
