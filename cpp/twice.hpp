// Sums of products in twice the precision, with a bound on what rounding is left.
#pragma once

#include <cmath>

namespace counterleaf {

inline constexpr double U = 0x1p-53;

/// A number that is known to within an error.
struct Near {
    double value = 0.0, error = 0.0;
};

/// A sum of products in twice the precision.
struct Twice {
    double total = 0.0, rest = 0.0, size = 0.0;

    void add(double a, double b) {
        const double product = a * b, summed = total + product, t = summed - total;
        rest += std::fma(a, b, -product) + ((total - (summed - t)) + (product - t));
        total = summed;
        size += std::fabs(product);
    }
    /// ``count`` terms at most.
    Near near(double count) const {
        const double value = total + rest;
        return {value, 2.0 * U * std::fabs(value) + 8.0 * count * count * U * U * size};
    }
};

}  // namespace counterleaf
