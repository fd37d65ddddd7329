// A lower bound and how certain it is.
#pragma once

namespace counterleaf {

/// A bound that multipliers prove in real arithmetic, with rounding errors subtracted.
struct ProvedBound {
    double value;
    double error;  // the approximate loss through rounding
    bool sure;     // false if a price exceeds its slope by what looks like rounding; in real arithmetic the bound may then be
                   // minus infinity
};

}  // namespace counterleaf
