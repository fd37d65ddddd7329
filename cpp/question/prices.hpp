// The cost of a change, independent of the source.
#pragma once

#include <cstdint>
#include <vector>

namespace counterleaf {

/// A matrix by compressed rows (CSR).
struct Sparse {
    std::vector<int> start, columns;
    std::vector<double> values;
};

/// The coupled cost d' Q d, as passed and as the solver uses it: P[i, j] = Q[o_i, o_j] / (s[o_i] s[o_j]), with o the
/// elimination order and s the largest power of two up to each size.
struct Coupling {
    Sparse matrix;                      // without entries for 0/1 variables
    std::vector<double> tangent_curve;  // Q - diag(tangent_curve) is positive semidefinite: this curvature remains when the
                                        // rest is replaced by a tangent
    std::vector<int> order;
    Sparse scaled;
    double theta;  // tangent_curve = theta size^2; 0 where P is singular or nearly so
};

/// The prices of all changes.
struct Prices {
    std::uint64_t id = 0;  // unique to these prices
    std::vector<double> curve_up, slope_up, curve_down, slope_down;
    std::vector<double> size;                // the slope or curvature of a feature; 0 where changes are free
    std::vector<std::vector<double>> moves;  // of each group: the price of each change of value, by old and new value
    std::vector<double> charges;             // of each feature: the price of changing it at all; empty if nothing is charged
    bool curved = false, flat = false;       // every number is curved in both directions; no number is curved at all
    bool runs = false;                       // the cost of some number decreases as it moves away
    std::vector<Coupling> coupling;          // empty, or one element
};

}  // namespace counterleaf
