// Sums as if in twice the precision: what rounding takes from each operation is kept and added in the end.
#pragma once

#include <cmath>

namespace counterleaf {

struct Twofold {
    double high = 0.0, low = 0.0;

    void add(double x) {
        const double sum = high + x, part = sum - high;
        low += (high - (sum - part)) + (x - part);
        high = sum;
    }
    void add_product(double a, double b) {
        const double product = a * b;
        if (std::fabs(product) < INFINITY) low += std::fma(a, b, -product);
        add(product);
    }
    double value() const { return high + low; }
};

}  // namespace counterleaf
