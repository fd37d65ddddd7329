// What rounding does: its unit, and sums as if in twice the precision, where what it takes from each operation is kept and
// added in the end.
#pragma once

#include <cmath>

namespace counterleaf {

inline constexpr double ROUND = 0x1p-53;  // what one operation may add to its result, as a share of it

/// What rounding takes from a product: by halves of the digits (Veltkamp, Dekker), which is a call faster than a fused
/// operation that not every processor has, unless a half would overflow.
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

/// A number that is known to within an error.
struct Ball {
    double value = 0.0, error = 0.0;
};

/// A sum of products, with the size of its terms, which says how near it is.
struct BallSum {
    Twofold sum;
    double size = 0.0;

    void add(double a, double b) {
        sum.add_product(a, b);
        size += std::fabs(a * b);
    }
    /// ``count`` terms at most.
    Ball ball(double count) const {
        const double value = sum.value();
        return {value, 2.0 * ROUND * std::fabs(value) + 8.0 * count * count * ROUND * ROUND * size};
    }
};

}  // namespace counterleaf
