// One question: a source with its box and prices, a target, and a tree.
//
//     min sum_d phi_d(x_d - source_d) + charges of the features that change + coupling + class cost
//     over the rows x of the table, lower <= x <= upper, that obey the user's rows, clauses and limits on changes and that the
//     tree sends to a target leaf.
//
// The variables of a table are numbers, some of them on grids, and one-hot groups, in each of which exactly one variable is 1.
// A question without groups, grids, clauses, charges and limits on changes is called plain.
#pragma once

#include "question/layout.hpp"
#include "question/limits.hpp"
#include "question/phi.hpp"
#include "question/prices.hpp"
#include "question/tree.hpp"

namespace counterleaf {

/// How to bound a region: each feature separately (Box), or by the curvature of the features that can move.
enum class Method : std::uint8_t { Box, Curved, Flat, Mixed, Coupled };

/// One line per property, with one number per variable.
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
    /// phi of variable d; minus infinity where only the horizon stops the change.
    double price(std::size_t d, double change) const {
        if (horizon[d] > 0.0 && change >= upper[d] - source[d]) return -INF;
        if (horizon[d] < 0.0 && change <= lower[d] - source[d]) return -INF;
        return phi(d)(change);
    }
};

inline constexpr double WIDE_SHARE = 1e-9;  // share of the terms of a user's row by which an answer may miss it

/// By how much rounding may change the sum of a user's row whose terms have this size.
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
    double guard;  // the share of the terms by which w @ x + b stays away from 0 where the model sums a split in another order
    int home;      // the leaf of the source if the source obeys the constraints and no change has a negative cost, else -1
    const Coupling* coupling;            // null if the cost is separable
    std::span<const int> source_choice;  // of each group: the variable that is 1 in the source
    Constants soft;  // of each group: the curvature of its charge; as z^2 = z, the cost of a row stays the same
    std::span<const Interval> entries;  // of the clauses
    std::span<const ChangeLimit> change_limits;
    Constants charges;              // of each feature; empty if nothing is charged
    Constants sizes, source_sizes;  // of each user row: the size of its terms, at the ends of grids; and at the source
    double unit;                    // without the class cost, every row costs a multiple of this; 0 if there is no such number
    bool plain;                     // no groups, grids, clauses, charges or limits on changes
    std::uint64_t prices;           // the id of the prices, see Prices::id
    std::uint64_t scaling;          // questions with the same number have the same scales; 0 is unlike any other

    /// Whether it matters which features change.
    bool counts_changes() const { return !change_limits.empty() || !charges.empty(); }
    double charge(std::size_t feature) const { return charges.empty() ? 0.0 : charges[feature]; }

    std::size_t user_rows() const { return limits.rows.size(); }
    /// Row i: the split of node i or, from tree.nodes.size() on, a linear constraint.
    Terms row(std::size_t i) const { return is_split(i) ? tree.splits[i] : limits.rows[i - tree.nodes.size()]; }
    bool is_split(std::size_t row) const { return row < tree.nodes.size(); }
    std::size_t user_row(std::size_t i) const { return tree.nodes.size() + i; }
    double below(int node) const { return target.below[node]; }
    /// By how much w @ x + b must exceed 0 on a row.
    double offset(std::size_t row) const { return is_split(row) ? tree.nodes[row].margin : 0.0; }
    /// By how much a user's row may be missed because of rounding; 0 for splits.
    double tolerance(std::size_t row) const {
        if (is_split(row)) return 0.0;
        const std::size_t user = row - tree.nodes.size();
        return rounding_tolerance(limits.rows[user], sizes[user]);
    }
    /// The same with a wide margin: no row beyond it counts as an answer.
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
