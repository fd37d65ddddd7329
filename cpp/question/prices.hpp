// The cost of a change, for any source.
#pragma once

#include <cstdint>
#include <vector>

namespace counterleaf {

/// A matrix in CSR.
struct Sparse {
    std::vector<int> start, columns;
    std::vector<double> values;
};

/// d' Q d, raw and as the solver takes it: P[i, j] = Q[o_i, o_j] / (s[o_i] s[o_j]), o the elimination order and s the
/// greatest power of two up to each size.
struct Coupling {
    Sparse matrix;                  // no entries for 0/1 variables
    std::vector<double> separable;  // Q - diag(kept) is positive semidefinite: the curvature that a tangent leaves
    std::vector<int> order;
    Sparse scaled;
    double theta;  // kept is theta size^2; 0 where P is singular or nearly so
};

/// What a change costs, whatever the source.
struct Prices {
    std::uint64_t id = 0;  // of these prices and no others
    std::vector<double> curve_up, slope_up, curve_down, slope_down;
    std::vector<double> size;                // how steep or curved a feature is; 0 where it costs nothing
    std::vector<std::vector<double>> moves;  // of each group: what each change of value costs, from by to
    bool curved = false, flat = false;       // every number in both directions; no number at all
    bool runs = false;                       // some number earns by moving away
    std::vector<Coupling> coupling;          // one or none
};

}  // namespace counterleaf
