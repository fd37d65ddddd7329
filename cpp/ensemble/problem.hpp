// A box of cells as a smaller problem of its own, and the multipliers that bound it from below.
//
// A coordinate with more than one state left is a variable j. A state is a set of cells that no remaining tree tells apart, and
// no limit on changes either: one that stays is not merged with a cheaper one that changes. Its cost is that of the cheapest
// one, above the base. A tree with more than one leaf left is a factor f. Its leaves are disjoint
// boxes. Between a factor and each of its variables (a link), the states form pieces that the factor does not tell apart.
// Trees that depend on one variable only are added to the gains G of its states, constant ones to the bias.
//
// Is there a row in this box that costs less than C? With multipliers mu >= 0 (cost), lambda >= 0 that add up to 1 (rows of the
// target), nu >= 0 (limits on changes) and messages m (any numbers, one per piece of a link),
//
//     Z = - mu (C - base) - lambda bias - nu most
//         + sum over variables j  of min over states s of  [ mu cost(s) + nu moved(s) - lambda G(s) - sum over f of m_fj(s) ]
//         + sum over factors f    of min over leaves   of  [ - lambda gain(leaf) + sum over j of min over s in leaf of m_fj(s)
//         ]
//
// is at most 0 if there is one: put in that row and every minimum is at most its term. So Z > 0 proves that there is none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ensemble/forest.hpp"

namespace counterleaf::ensemble {

/// Pieces of one link in which leaves lie: first .. last, or, if ``last`` is negative, -last entries of a list from first on.
struct Interval {
    int link;  // counted from the first link of the factor
    int first, last;
};

struct Link {
    int variable;
    int pieces;
    int message;  // the first message
    int run;      // the first run: states in a row that belong to one piece
};

struct Problem {
    double base = 0.0;   // the cost of the cheapest state of every coordinate
    double bound = 0.0;  // no row of the box costs less
    int node = -1;       // of the proof

    std::vector<int> fixed;  // (V) the cheapest cell of a coordinate with one state left, -1 for a variable
    std::vector<int> left;   // how many more variables may move, for each limit on changes
    std::vector<double> bias;

    std::vector<int> coordinate;     // of each variable
    std::vector<int> state_start;    // one more than there are variables
    std::vector<int> cell;           // the cheapest cell of each state
    std::vector<double> cost, gain;  // of each state; gain has one column per row of the target
    std::vector<std::uint8_t> moved;
    std::vector<std::uint64_t> key;  // of the leaves that were added to the gains of a state
    std::vector<int> state_of;  // over all cells: the state, -1 if the coordinate is fixed, -2 if the cell is not in the box

    std::vector<int> tree;  // of each factor
    std::vector<int> link_start, leaf_start;
    std::vector<Link> links;  // and one more at the end
    std::vector<int> run_state, run_piece;
    std::vector<double> leaf_gain;
    std::vector<std::uint64_t> leaf_key;
    std::vector<int> interval_start;
    std::vector<Interval> intervals;        // of the leaves of a factor; many leaves share one
    std::vector<int> entry_start, entries;  // the intervals of each leaf
    std::vector<int> listed;                // the pieces of intervals that are lists

    double mu = 0.0;
    std::vector<double> lambda, nu, message;
    std::vector<double> residual;     // of each state, the bracket of the first sum of Z
    std::vector<double> leaf_energy;  // - lambda gain of each leaf

    int variables() const { return static_cast<int>(coordinate.size()); }
    int factors() const { return static_cast<int>(tree.size()); }
    int states() const { return static_cast<int>(cell.size()); }
    int states_of(int variable) const { return state_start[variable + 1] - state_start[variable]; }
    int run_end(int link, int run) const {
        return run + 1 < links[link + 1].run ? run_state[run + 1] : states_of(links[link].variable);
    }
    /// The piece of a state, counted from the first state of the variable.
    int piece(int link, int state) const {
        const auto begin = run_state.begin() + links[link].run, end = run_state.begin() + links[link + 1].run;
        return run_piece[std::upper_bound(begin, end, state) - run_state.begin() - 1];
    }
    /// The link of an interval of a factor.
    int link_of(int factor, int interval) const { return link_start[factor] + intervals[interval].link; }
    /// Call ``visit`` with every piece of an interval.
    template <class Visit>
    void each_piece(const Interval& interval, Visit visit) const {
        if (interval.last >= 0) {
            for (int p = interval.first; p <= interval.last; ++p) visit(p);
        } else {
            for (int k = interval.first; k < interval.first - interval.last; ++k) visit(listed[k]);
        }
    }
    /// The least of some numbers, one per piece, over the pieces of an interval.
    double least(const Interval& interval, const double* numbers) const {
        double out = INF;
        each_piece(interval, [&](int p) { out = numbers[p] < out ? numbers[p] : out; });
        return out;
    }
    double cheapest_cell_cost(int variable) const {
        return *std::min_element(cost.begin() + state_start[variable], cost.begin() + state_start[variable + 1]);
    }
};

/// The first problem of a search: the cells and leaves that a row cheaper than the cutoff can lie in; nothing if every row
/// costs at least ``cutoff``.
std::optional<Problem> build(const Question& question, double cutoff);

}  // namespace counterleaf::ensemble
