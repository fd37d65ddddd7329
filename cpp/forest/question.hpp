// One question about a forest:
//
//     minimise  sum over coordinates j of cost_j(s_j)   over one cell s_j per coordinate,
//     subject to the target, and to  sum over members j of moved_j(s_j) <= most   for each limit on changes.
//
// The cost of a cell is that of its cheapest allowed value, infinity if it has none. On either side of the cheapest cell of a
// number, finite costs do not decrease.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "forest/forest.hpp"

namespace counterleaf::ensemble {

struct ChangeLimit {
    std::vector<std::uint8_t> members;  // (V)
    int most;
};

struct Question {
    const Forest& forest;
    const Target& target;
    std::span<const double> cost;         // over all cells
    std::span<const std::uint8_t> moved;  // over all cells: whether the cheapest value differs from the source
    std::span<const ChangeLimit> limits;

    double cost_at(int coordinate, int cell) const { return cost[forest.first_cell[coordinate] + cell]; }
    bool moves(int coordinate, int cell) const { return moved[forest.first_cell[coordinate] + cell] != 0; }
    double cost_of(Cells s) const {
        double sum = 0.0;
        for (int j = 0; j < forest.coordinates(); ++j) sum += cost_at(j, s[j]);
        return sum;
    }
    bool obeys_limits(Cells s) const {
        for (const ChangeLimit& limit : limits) {
            int count = 0;
            for (int j = 0; j < forest.coordinates(); ++j) count += limit.members[j] != 0 && moves(j, s[j]);
            if (count > limit.most) return false;
        }
        return true;
    }
    /// Whether a cell is better than another one of its coordinate: cheaper, or as cheap and without a change.
    bool is_better(int coordinate, int cell, int than) const {
        const double here = cost_at(coordinate, cell), there = cost_at(coordinate, than);
        return here < there || (here == there && !moves(coordinate, cell) && moves(coordinate, than));
    }
    /// Whether the better one of two cells of a coordinate can replace the other one in every row: where a limit counts the
    /// change, a cheaper cell that changes cannot replace the one that stays.
    bool may_replace(int coordinate, int cell, int other) const {
        const bool first = moves(coordinate, cell), second = moves(coordinate, other);
        if (first == second || is_better(coordinate, first ? other : cell, first ? cell : other)) return true;
        return std::ranges::none_of(limits, [&](const ChangeLimit& limit) { return limit.members[coordinate] != 0; });
    }
    int cheapest(int coordinate) const {
        int best = 0;
        for (int cell = 1; cell < forest.count(coordinate); ++cell)
            if (is_better(coordinate, cell, best)) best = cell;
        return best;
    }
};

/// The best row so far.
struct Incumbent {
    double cost = INF;
    std::vector<int> cells;

    /// Take a row if it is cheaper and an answer; return whether it was taken.
    bool offer(const Question& question, Cells s) {
        const double paid = question.cost_of(s);
        if (!(paid < cost) || !question.obeys_limits(s) || !question.target.accepts(question.forest, s)) return false;
        cost = paid;
        cells.assign(s.begin(), s.end());
        return true;
    }
};

}  // namespace counterleaf::ensemble
