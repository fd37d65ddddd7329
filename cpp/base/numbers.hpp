// Spans of numbers that another object owns, and the constants for infinity and for no number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace counterleaf {

inline constexpr double INF = std::numeric_limits<double>::infinity();
inline constexpr double NONE = std::numeric_limits<double>::quiet_NaN();

using Numbers = std::span<double>;
using Constants = std::span<const double>;
using Places = std::span<int>;

/// The largest absolute value.
inline double largest_of(Constants x) {
    double largest = 0.0;
    for (double one : x) largest = std::max(largest, std::fabs(one));
    return largest;
}

}  // namespace counterleaf
