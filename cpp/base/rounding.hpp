// Floating-point rounding: its unit, and sums in twice the working precision, which accumulate the rounding error of every
// operation and add it at the end.
#pragma once

#include <cmath>

namespace counterleaf {

inline constexpr double ROUND = 0x1p-53;  // the relative error of one operation

/// The rounding error of a product, by splitting both factors into halves (Veltkamp, Dekker). This is faster than a call of
/// fma, which not every processor has. Factors whose halves would overflow use fma.
inline double lost_in(double a, double b, double product) {
    constexpr double SPLIT = 0x1p27 + 1.0, LARGE = 1e140;
    if (!(std::fabs(a) < LARGE && std::fabs(b) < LARGE)) return std::fma(a, b, -product);
    const double big_a = SPLIT * a, high_a = big_a - (big_a - a), low_a = a - high_a;
    const double big_b = SPLIT * b, high_b = big_b - (big_b - b), low_b = b - high_b;
    return low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b);
}

struct Twofold {
    double high = 0.0, low = 0.0;

    void add(double x) {
        const double sum = high + x, part = sum - high;
        low += (high - (sum - part)) + (x - part);
        high = sum;
    }
    void add_product(double a, double b) {
        const double product = a * b;
        low += lost_in(a, b, product);
        add(product);
    }
    double value() const { return high + low; }
};

/// A number within ``error`` of ``value``.
struct Ball {
    double value = 0.0, error = 0.0;
};

/// A sum of products in twice the working precision, and the size of its terms, which bounds its error.
struct BallSum {
    Twofold sum;
    double size = 0.0;

    void add(double a, double b) {
        sum.add_product(a, b);
        size += std::fabs(a * b);
    }
    /// The sum with its error bound, for at most ``count`` terms.
    Ball ball(double count) const {
        const double value = sum.value();
        return {value, 2.0 * ROUND * std::fabs(value) + 8.0 * count * count * ROUND * ROUND * size};
    }
};

/// A bound that multipliers prove in real arithmetic, with rounding errors subtracted.
struct ProvedBound {
    double value;
    double error;  // the approximate loss through rounding
    bool sure;     // false if a price exceeds its slope by what looks like rounding; in real arithmetic the bound may then be
                   // minus infinity
};

}  // namespace counterleaf
