// A sum of trees over coordinates that are cut into cells, the target that its scores must reach, and the question.
//
// Only the thresholds matter: between two neighbouring thresholds of a feature, no tree can tell two numbers apart. So every
// coordinate (a number, or a feature with finitely many values) is a list of cells, and a row is one cell per coordinate, s.
// Tree t adds what its leaf holds to some of the K scores:
//
//     score(s) = start + sum over trees t of value(leaf_t(s))
//
// in the order and the precision of the model. The target is a set of R linear rows that must hold,
//
//     bias_r + sum over trees t of gain_r(leaf_t(s)) >= 0        for r = 1 .. R,
//
// where gain_r is a combination of the scores, such as that of the wanted class minus that of a rival. The bias has room for
// the rounding of the model's sum: a row that violates one of them is rejected for sure. Whether a row is accepted is decided
// by ``accepts``, which adds as the model does. The question is to
//
//     minimise  sum over coordinates j of cost_j(s_j)   over one cell s_j per coordinate,
//     subject to the target, and to  sum over members j of moved_j(s_j) <= most   for each limit on changes.
//
// The cost of a cell is that of its cheapest allowed value, infinity if it has none. On either side of the cheapest cell of a
// number, finite costs do not decrease.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace counterleaf::ensemble {

inline constexpr double INF = std::numeric_limits<double>::infinity();

using Cells = std::span<const int>;  // one cell per coordinate, counted from 0 in each

struct Node {
    int coordinate;   // -1 at a leaf
    int cut;          // the last cell that goes left; for a group, the position of its subset
    int left, right;  // larger than the node itself; several nodes may share a child
};

struct Forest {
    std::vector<int> first_cell;        // (V + 1) where the cells of each coordinate begin in arrays over all cells
    std::vector<std::uint8_t> grouped;  // (V) whether the order of a coordinate's cells means nothing
    std::vector<int> root;              // (T)
    std::vector<Node> nodes;
    std::vector<int> subset_start;     // where each subset begins in ``subset``
    std::vector<std::uint8_t> subset;  // whether each cell of a group goes right
    std::vector<double> value;         // (N, width)
    std::vector<std::uint64_t> key;    // (N) a hash of the values of a leaf: leaves of different values have different keys
    std::size_t width = 1;
    std::vector<int> output;    // (T) the first of the scores to which a tree adds
    std::vector<double> start;  // (K)
    bool narrow = false;        // sums are in float32
    bool late = false;          // the start is added after the trees
    double divisor = 1.0;

    int coordinates() const { return static_cast<int>(grouped.size()); }
    int trees() const { return static_cast<int>(root.size()); }
    int cells() const { return first_cell.back(); }
    int count(int coordinate) const { return first_cell[coordinate + 1] - first_cell[coordinate]; }

    bool goes_right(const Node& node, int cell) const {
        return grouped[node.coordinate] ? subset[subset_start[node.cut] + cell] != 0 : cell > node.cut;
    }
    int next(const Node& node, int cell) const { return goes_right(node, cell) ? node.right : node.left; }
    int leaf(int tree, Cells s) const {
        int at = root[tree];
        while (nodes[at].coordinate >= 0) at = next(nodes[at], s[nodes[at].coordinate]);
        return at;
    }
    /// The scores of the leaves that a row reaches, added as the model does; into ``scores``.
    void add(std::span<const int> leaves, std::vector<double>& scores) const;
};

/// One score must lie in an interval.
struct ScoreRange {
    int output;
    double low, high;
};

struct Target {
    int rows = 1;
    std::vector<double> gain;  // (N, rows)
    std::vector<double> bias;  // (rows)
    double room = 0.0;     // the rounding for which the bias has room: a row that holds by twice as much is accepted for sure
    double scale = 0.0;    // the size of the terms of the rows
    double largest = 0.0;  // the largest gain
    int winner = -1;       // the class whose score must be the largest, the first of equal ones; -1 if there is none
    double margin = 0.0;   // by which it must be larger than all others
    std::vector<ScoreRange> intervals;
    double noise = 0.0;                // by how much the scores may differ from those by which the model decides
    std::vector<std::uint8_t> closed;  // (N) leaves that no answer may reach; empty if there are none

    double of(int node, int row) const { return gain[static_cast<std::size_t>(node) * rows + row]; }
    /// A sum that is this far below 0 is below 0 in spite of rounding.
    double rounding() const { return 1e-10 * scale; }
    bool is_closed(int node) const { return !closed.empty() && closed[node] != 0; }
    bool accepts(const Forest& forest, Cells s) const { return clears(forest, s, 0.0); }
    /// Whether no noise could make the model accept a row.
    bool surely_rejects(const Forest& forest, Cells s) const { return !clears(forest, s, noise); }

private:
    bool clears(const Forest& forest, Cells s, double slack) const;
};

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
