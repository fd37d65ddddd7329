#include "ensemble/local_search.hpp"

#include <algorithm>
#include <utility>

namespace counterleaf::ensemble {
namespace {

constexpr int MOVES = 200, REPAIRS = 3;
constexpr double SAVING = 1e-12;  // a smaller saving, as a share of the cost, is none

}  // namespace

/// For each cell of a coordinate, with the other coordinates as they are, the least row of the target.
void LocalSearch::profile(Cells s, int j) {
    const int n = forest_.count(j), rows = q_.target.rows;
    const bool grouped = forest_.grouped[j] != 0;
    sums_.assign(static_cast<std::size_t>(n + 1) * rows, 0.0);
    worst_.assign(n, INF);
    const auto walk = [&](int node) {
        while (forest_.nodes[node].coordinate >= 0 && forest_.nodes[node].coordinate != j)
            node = forest_.next(forest_.nodes[node], s[forest_.nodes[node].coordinate]);
        return node;
    };
    const auto add = [&](int cell, int leaf, double sign) {
        for (int r = 0; r < rows; ++r) sums_[static_cast<std::size_t>(cell) * rows + r] += sign * q_.target.of(leaf, r);
    };
    for (int t = 0; t < forest_.trees(); ++t) {
        if (grouped) {
            const int first = walk(forest_.root[t]);
            const bool constant = forest_.nodes[first].coordinate < 0;
            for (int cell = 0; cell < n; ++cell) {
                int at = first;
                while (!constant && forest_.nodes[at].coordinate >= 0) at = walk(forest_.next(forest_.nodes[at], cell));
                add(cell, at, 1.0);
                if (q_.target.is_closed(at)) worst_[cell] = -INF;
            }
            continue;
        }
        stack_.assign(1, {forest_.root[t], 0, n - 1});
        while (!stack_.empty()) {
            const Range range = stack_.back();
            stack_.pop_back();
            const int at = walk(range.node);
            const Node& node = forest_.nodes[at];
            if (node.coordinate < 0) {
                add(range.low, at, 1.0);
                add(range.high + 1, at, -1.0);
                if (q_.target.is_closed(at)) std::fill(worst_.begin() + range.low, worst_.begin() + range.high + 1, -INF);
                continue;
            }
            if (range.low <= node.cut) stack_.push_back({node.left, range.low, std::min(range.high, node.cut)});
            if (range.high > node.cut) stack_.push_back({node.right, std::max(range.low, node.cut + 1), range.high});
        }
    }
    for (int r = 0; r < rows; ++r) {
        double sum = q_.target.bias[r];
        for (int cell = 0; cell < n; ++cell) {
            const double here = sums_[static_cast<std::size_t>(cell) * rows + r];
            if (!grouped) sum += here;
            worst_[cell] = std::min(worst_[cell], grouped ? sum + here : sum);
        }
    }
}

/// Whether a row with another cell of one coordinate is an answer, decided as the model does.
bool LocalSearch::reaches(std::vector<int>& s, int j, int cell) {
    const int before = std::exchange(s[j], cell);
    const bool found = q_.obeys_limits(s) && q_.target.accepts(forest_, s);
    s[j] = before;
    return found;
}

/// Make the single move that saves most.
bool LocalSearch::improve_one(std::vector<int>& s) {
    std::vector<std::pair<double, std::pair<int, int>>> moves;  // saving, coordinate, cell
    const double least = SAVING * std::max(1.0, q_.cost_of(s));
    for (int j = 0; j < forest_.coordinates(); ++j) {
        const double now = q_.cost_at(j, s[j]);
        if (!(now > q_.cost_at(j, cheapest_[j]))) continue;
        profile(s, j);
        for (int cell = 0; cell < forest_.count(j); ++cell) {
            const double saving = now - q_.cost_at(j, cell);
            if (saving > least && worst_[cell] >= -q_.target.rounding()) moves.push_back({saving, {j, cell}});
        }
    }
    std::ranges::stable_sort(moves, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [saving, move] : moves) {
        if (!reaches(s, move.first, move.second)) continue;
        s[move.first] = move.second;
        return true;
    }
    return false;
}

/// Find the cheapest move of another coordinate that makes the row an answer and costs less than ``most``.
bool LocalSearch::pay_elsewhere(std::vector<int>& s, int except, double most) {
    int coordinate = -1, chosen = -1;
    for (int k = 0; k < forest_.coordinates(); ++k) {
        if (k == except) continue;
        profile(s, k);
        for (int cell = 0; cell < forest_.count(k); ++cell) {
            const double extra = q_.cost_at(k, cell) - q_.cost_at(k, s[k]);
            if (!(extra < most) || worst_[cell] < -q_.target.rounding() || !reaches(s, k, cell)) continue;
            most = extra;
            coordinate = k;
            chosen = cell;
        }
    }
    if (coordinate < 0) return false;
    s[coordinate] = chosen;
    return true;
}

/// Let one coordinate give way, and another one pay less for it.
bool LocalSearch::improve_two(std::vector<int>& s) {
    const double least = SAVING * std::max(1.0, q_.cost_of(s));
    for (int j = 0; j < forest_.coordinates(); ++j) {
        const int before = s[j], source = cheapest_[j];
        const double now = q_.cost_at(j, before);
        if (!(now > q_.cost_at(j, source))) continue;
        const int nearer = forest_.grouped[j] ? source : before + (source < before ? -1 : 1);
        for (const int cell : {source, nearer}) {
            if (!(q_.cost_at(j, cell) < INF) || stop_.is_due()) continue;
            s[j] = cell;
            if (pay_elsewhere(s, j, now - q_.cost_at(j, cell) - least)) return true;
            s[j] = before;
            if (nearer == source) break;
        }
    }
    return false;
}

void LocalSearch::descend(std::vector<int> s) {
    for (int move = 0; move < MOVES && !stop_.is_due(); ++move)
        if (!improve_one(s) && !improve_two(s)) break;
    incumbent_.offer(q_, s);
}

void LocalSearch::repair() {
    for (int round = 0; round < REPAIRS; ++round) {
        const std::vector<int> best = incumbent_.cells;
        for (int j = 0; j < static_cast<int>(best.size()) && !stop_.is_due(); ++j) {
            if (!(q_.cost_at(j, best[j]) > q_.cost_at(j, cheapest_[j]))) continue;
            std::vector<int> s = best;
            s[j] = cheapest_[j];
            climb(std::move(s), j);
        }
        if (incumbent_.cells == best) return;
    }
}

void LocalSearch::climb(std::vector<int> s, int still) {
    const double sure = 2.0 * q_.target.room + q_.target.rounding();
    for (int move = 0; move < MOVES && !stop_.is_due(); ++move) {
        if (!(q_.cost_of(s) < INF)) return;
        if (q_.obeys_limits(s) && q_.target.accepts(forest_, s)) {
            incumbent_.offer(q_, s);
            descend(s);
            return;
        }
        double best = 0.0;
        int coordinate = -1, chosen = -1;
        if (!(q_.cost_of(s) < incumbent_.cost)) return;
        for (int j = 0; j < forest_.coordinates(); ++j) {
            if (j == still) continue;
            profile(s, j);
            const double here = worst_[s[j]], price = q_.cost_at(j, s[j]);
            for (int cell = 0; cell < forest_.count(j); ++cell) {
                const double cost = q_.cost_at(j, cell);
                if (!(cost < INF) || cell == s[j] || worst_[cell] == -INF) continue;
                const double gain = std::min(worst_[cell], sure) - (here == -INF ? -q_.target.scale : here);
                const double rate = gain / std::max(cost - price, 1e-9);
                if (!(gain > 1e-3 * q_.target.rounding()) || !(rate > best)) continue;
                const int before = std::exchange(s[j], cell);
                const bool obeys = q_.obeys_limits(s);
                s[j] = before;
                if (!obeys) continue;
                best = rate;
                coordinate = j;
                chosen = cell;
            }
        }
        if (coordinate < 0) return;
        s[coordinate] = chosen;
    }
}

}  // namespace counterleaf::ensemble
