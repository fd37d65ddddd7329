#include "rows/realise.hpp"

#include <cmath>

#include "linear/normal.hpp"
#include "rows/routing.hpp"

namespace counterleaf {

static constexpr double CLOSE = 1e-6;  // relative to its terms: a sum this close to its target is on a face

void place(const Question& question, Constants change, const Box& box, bool coarse, Numbers x) {
    const Features& f = question.features;
    const Layout& layout = question.layout;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double low = box.lower(d), high = box.upper(d);
        x[d] = changed_number(question, d, change[d], low, high);
        if (coarse && change[d] != 0.0 && x[d] != low && x[d] != high)
            x[d] = std::min(std::max(static_cast<double>(static_cast<float>(x[d])), low), high);
    }
    for (std::size_t g = 0; g < layout.groups(); ++g) {
        int best = layout.first[g];
        for (int v = layout.first[g]; v < layout.last[g]; ++v)
            if (f.source[v] + change[v] > f.source[best] + change[best]) best = v;
        for (int v = layout.first[g]; v < layout.last[g]; ++v) x[v] = v == best ? 1.0 : 0.0;
    }
}

bool is_tidy(const Question& question, const Path& path, const Box& box, Numbers x) {
    constexpr int MANY = 16;           // a row with more changed numbers is not tidied
    constexpr double FEWER = 0x1p-46;  // relative to a number: the digits that are removed
    int changed = 0;
    for (std::size_t d = 0; d < x.size(); ++d) {
        if (x[d] == 0.0 || x[d] == question.features.source[d] || x[d] == box.lower(d) || x[d] == box.upper(d)) continue;
        if (!question.layout.is_number(d) || !question.layout.step[d].is_free()) continue;
        if (++changed > MANY) return false;
        const double unit = std::ldexp(FEWER, std::ilogb(x[d])), to = std::nearbyint(x[d] / unit) * unit;
        x[d] = std::min(std::max(to, box.lower(d)), box.upper(d));
    }
    for (std::size_t t = question.user_rows(); t < path.size(); ++t)
        if (const Terms terms = question.row(path.row[t]);
            routed_at(question, x, path.row[t], path.sign[t], terms.sum(x, question.tree.narrow)) != Routed::Safely)
            return false;
    return changed > 0;
}

/// By how much x misses a user's row beyond the tolerance of an answer.
static double miss_of(const Question& question, Constants x, std::size_t user) {
    const Terms terms = question.limits.rows[user];
    const double total = terms.exactly_at(x);
    const double rounding = 15.0 * (static_cast<double>(terms.size()) + 2.0) * ROUND * terms.size_at(x);
    const double may = std::max(question.tolerance(question.user_row(user)), rounding);
    return (user < question.limits.equal ? std::fabs(total) : -total) - may;
}

bool obeys(const Question& question, Constants x) {
    for (std::size_t i = 0; i < question.user_rows(); ++i)
        if (miss_of(question, x, i) > 0.0) return false;
    return std::ranges::all_of(question.change_limits, [&](const ChangeLimit& limit) {
        int changed = 0;
        for (std::size_t d = 0, last = x.size(); d < x.size(); ++d) {
            const auto feature = static_cast<std::size_t>(question.layout.feature[d]);
            if (x[d] != question.features.source[d] && feature != last && limit.members[feature]) ++changed, last = feature;
        }
        return changed <= limit.most;
    });
}

/// Raises the sums of rows by moving numbers that are not on a grid, not equal to the source and not at a bound of the box.
class Lift {
public:
    Lift(const Question& question, const Box& box, bool coarse, Numbers x, Scratch& scratch)
        : question(question), box(box), coarse(coarse), x(x), scratch(scratch) {}

    /// Raise the sums of ``rows`` by ``by`` along the shortest way in units of the cost. Returns the largest relative change of
    /// a number; 0 if none can move.
    double raise(std::span<const Terms> rows, Constants by) {
        const Scratch::Frame frame(scratch);
        const Places slot = find_columns(rows);
        const std::size_t m = rows.size(), wide = padded(columns.size());
        if (columns.empty() || m > columns.size()) return 0.0;
        const Grid A = scratch.grid(m, wide), R = scratch.grid(m, m);
        const Numbers weight = scratch.numbers(wide), miss = scratch.numbers(m), step = scratch.numbers(m);
        const Places all = scratch.places(m);
        std::fill_n(A.data, m * wide, 0.0);
        std::ranges::fill(weight, 1.0);
        for (std::size_t t = 0; t < m; ++t) {
            double most = 0.0;
            for (std::size_t k = 0; k < rows[t].size(); ++k) {
                const int d = rows[t].columns[k], j = slot[d];
                if (j < 0) continue;
                A[t][j] = rows[t].weights[k] / question.features.scale[d];
                most = std::max(most, std::fabs(A[t][j]));
            }
            if (!(most > 0.0)) return 0.0;
            loops.divide(A[t], most, wide);
            miss[t] = by[t] / most;
            all[t] = static_cast<int>(t);
        }
        solve_normal({A, all, weight, 1e-32}, miss, step, R, scratch);
        return move(A, step);
    }

private:
    bool can_move(int d) const {
        return x[d] != question.features.source[d] && box.lower(d) < x[d] && x[d] < box.upper(d) &&
               question.layout.is_number(d) && question.layout.step[d].is_free();
    }

    /// Find the variables that can move, in their order; returns the position of each variable among them, or -1.
    Places find_columns(std::span<const Terms> rows) {
        const Places slot = scratch.places(x.size());
        std::ranges::fill(slot, -1);
        for (const Terms& terms : rows)
            for (int d : terms.columns) slot[d] = 0;
        columns.clear();
        for (std::size_t d = 0; d < x.size(); ++d) {
            if (slot[d] < 0) continue;
            const bool moves = can_move(static_cast<int>(d));
            slot[d] = moves ? static_cast<int>(columns.size()) : -1;
            if (moves) columns.push_back(static_cast<int>(d));
        }
        return slot;
    }

    double move(const Grid& A, Constants step) {
        double longest = 0.0;
        for (std::size_t j = 0; j < columns.size(); ++j) {
            const int d = columns[j];
            double way = 0.0;
            for (std::size_t t = 0; t < A.rows; ++t) way += step[t] * A[t][j];
            double to = x[d] + way / question.features.scale[d];
            if (!std::isfinite(to)) return 0.0;
            if (coarse) to = static_cast<double>(static_cast<float>(to));
            to = std::min(std::max(to, box.lower(d)), box.upper(d));
            if (to != x[d]) longest = std::max(longest, x[d] == 0.0 ? INF : std::fabs((to - x[d]) / x[d]));
            x[d] = to;
        }
        return longest;
    }

    const Question& question;
    const Box& box;
    const bool coarse;
    const Numbers x;
    Scratch& scratch;
    std::vector<int> columns;
};

bool mend(const Question& question, const Box& box, Numbers x, Scratch& scratch) {
    constexpr int ROUNDS = 3;
    Lift lift(question, box, false, x, scratch);
    for (int round = 0; round < ROUNDS && !obeys(question, x); ++round) {
        std::vector<Terms> rows;
        std::vector<double> by;
        for (std::size_t i = 0; i < question.user_rows(); ++i) {
            const Terms terms = question.limits.rows[i];
            const auto [total, size] = terms.exact_sum(x);
            if (i < question.limits.equal || total < WIDE_SHARE * size) rows.push_back(terms), by.push_back(-total);
        }
        if (lift.raise(rows, by) == 0.0) break;
    }
    return obeys(question, x);
}

bool push(const Question& question, const Path& path, const Box& box, bool coarse, Numbers x, Scratch& scratch) {
    constexpr int ROUNDS = 8;
    constexpr double FAR = 1e-3, SHORT = 1e-6;  // relative to its terms: a sum this far from 0 stays so after a short move
    std::vector<Terms> rows;
    std::vector<double> by, sizes;
    std::vector<std::size_t> near, left;
    for (std::size_t t = question.user_rows(); t < path.size(); ++t) near.push_back(t);
    Lift lift(question, box, coarse, x, scratch);
    for (int round = 0; round < ROUNDS; ++round) {
        bool through = true;
        left.clear(), sizes.clear();
        for (std::size_t t : near) {
            const Terms terms = question.row(path.row[t]);
            const Sum sum = terms.sum(x, question.tree.narrow);
            if (path.sign[t] * sum.total > FAR * sum.size + question.offset(path.row[t])) continue;
            left.push_back(t), sizes.push_back(sum.size);
            through = through && routed_at(question, x, path.row[t], path.sign[t], sum) == Routed::Safely;
        }
        if (through) return true;
        rows.clear(), by.clear();
        for (std::size_t k = 0; k < left.size(); ++k) {
            const std::size_t t = left[k];
            const Terms terms = question.row(path.row[t]);
            const double count = static_cast<double>(terms.size()) + 3.0;
            const double share = std::max(1.05 * count * ROUND, question.guard) + (question.tree.narrow ? 0x1p-23 : 0.0);
            const double miss = path.sign[t] * (question.offset(path.row[t]) + share * sizes[k]) - terms.exactly_at(x);
            if (path.sign[t] * miss > -CLOSE * sizes[k]) rows.push_back(terms), by.push_back(miss);
        }
        const double longest = lift.raise(rows, by);
        if (longest == 0.0) return false;
        if (longest <= SHORT) near = left;
    }
    return false;
}

}  // namespace counterleaf
