// One question: a source, its box and its prices, a target, a tree.
//
//     min sum_d phi_d(x_d - source_d) + coupling + class cost   over the rows x of the table, lower <= x <= upper,
//     that obey the user's rows and clauses and that the tree sends to a target leaf.
//
// A table has groups, one-hot variables of which exactly one is 1, and numbers on grids. Numbers without either are a table
// with no groups.
#pragma once

#include "question/layout.hpp"
#include "question/limits.hpp"
#include "question/phi.hpp"
#include "question/prices.hpp"
#include "question/tree.hpp"

namespace counterleaf {

/// How to bound a region: each feature on its own, or by the curvature of what can move.
enum class Method : std::uint8_t { Box, Curved, Flat, Mixed, Coupled };

/// Lines with a number per variable.
struct Features {
    Constants source, lower, upper, curve_up, slope_up, curve_down, slope_down;
    Constants scale;    // the units: a change of 1 / scale costs about 1
    Constants horizon;  // 1 or -1 where the cost keeps decreasing towards the upper or lower bound, else 0

    /// The order of the lines in memory; LINES is their number.
    enum Line : std::size_t { SOURCE, LOWER, UPPER, CURVE_UP, SLOPE_UP, CURVE_DOWN, SLOPE_DOWN, SCALE, HORIZON, LINES };
    static Features of(const double* data, std::size_t width) {
        const auto line = [&](std::size_t k) { return Constants(data + k * width, width); };
        return {line(SOURCE),     line(LOWER),      line(UPPER), line(CURVE_UP), line(SLOPE_UP),
                line(CURVE_DOWN), line(SLOPE_DOWN), line(SCALE), line(HORIZON)};
    }

    std::size_t width() const { return source.size(); }
    Phi phi(std::size_t d) const { return {curve_up[d], slope_up[d], curve_down[d], slope_down[d]}; }
    /// phi of variable d; minus infinity where the change only stops at the horizon.
    double price(std::size_t d, double change) const {
        if (horizon[d] > 0.0 && change >= upper[d] - source[d]) return -INF;
        if (horizon[d] < 0.0 && change <= lower[d] - source[d]) return -INF;
        return phi(d)(change);
    }
};

inline constexpr double WIDE_SHARE = 1e-9;  // of the terms of a row of the user's: what an answer may miss it by

/// What a row of the user's, with terms of a size, gives to rounding.
inline double rounding_tolerance(const Terms& terms, double size) {
    return 4.0 * (static_cast<double>(terms.size()) + 2.0) * ROUND * size;
}

struct Question {
    const Tree& tree;
    const Layout& layout;
    const Target& target;
    const Limits& limits;
    Features features;
    Method method;
    double margin;             // w @ x + b stays at least this far from 0 at every split on the way
    double guard;              // the same as a share of the terms, where the model sums a split in another way
    int home;                  // the source's own leaf if it obeys the constraints and nothing earns by moving, else -1
    const Coupling* coupling;  // or null
    std::span<const int> source_choice;  // of each group: the variable that is 1 in the source
    Constants soft;                     // of each group: the curvature with which its variables are charged (z^2 = z, so no row
                                        // costs more or less)
    std::span<const Interval> entries;  // of the clauses
    Constants sizes, source_sizes;      // of each of the user's rows: its terms, at most on grids; at the source or as fixed
    double unit;                        // every row costs a whole multiple of this, beyond the class cost; 0 where it does not
    bool plain;                         // no groups, grids, counts or clauses
    std::uint64_t prices;               // see Prices::id
    std::uint64_t scaling;              // questions with the same number have the same scales; 0: unlike any other

    std::size_t user_rows() const { return limits.rows.size(); }
    /// Row i: the split of node i, or behind these a row of the user's.
    Terms row(std::size_t i) const { return is_split(i) ? tree.splits[i] : limits.rows[i - tree.nodes.size()]; }
    bool is_split(std::size_t row) const { return row < tree.nodes.size(); }
    std::size_t user_row(std::size_t i) const { return tree.nodes.size() + i; }
    double below(int node) const { return target.below[node]; }
    /// By how much w @ x + b must exceed 0 on a row.
    double offset(std::size_t row) const { return is_split(row) ? margin : 0.0; }
    /// By how much a row of the user's may be missed and still hold, to rounding; splits give nothing.
    double tolerance(std::size_t row) const {
        if (is_split(row)) return 0.0;
        const std::size_t user = row - tree.nodes.size();
        return rounding_tolerance(limits.rows[user], sizes[user]);
    }
    /// The same, so wide that what lies beyond is not there for anybody.
    double wide_tolerance(std::size_t row) const {
        return is_split(row) ? 0.0 : std::max(WIDE_SHARE * source_sizes[row - tree.nodes.size()], tolerance(row));
    }
    /// Whether x lies in one of the two boxes of a clause.
    bool holds(const Clause& clause, Side side, Constants x) const {
        for (const Interval& entry : part(clause, side))
            if (!(entry.lower <= x[entry.variable] && x[entry.variable] <= entry.upper)) return false;
        return true;
    }
    std::span<const Interval> part(const Clause& clause, Side side) const {
        const bool first = side == Side::Left;
        const int from = first ? clause.begin : clause.middle, to = first ? clause.middle : clause.end;
        return entries.subspan(from, to - from);
    }
};

}  // namespace counterleaf
