#include "realise.hpp"

#include <cmath>

namespace counterleaf {

void place(const Question& question, Constants change, const Box& box, bool coarse, Numbers x) {
    const Features& f = question.features;
    const Layout& layout = question.layout;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double low = box.lower(d), high = box.upper(d);
        x[d] = placed(question, d, change[d], low, high);
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

/// What rounding can do to a split's sum, through the sum itself and through x = source + change; and, where all of that is
/// zero, a change too small to matter in the units of the cost.
static double rounding(const Question& question, Constants x, const Terms& terms) {
    const Features& f = question.features;
    double size = std::fabs(terms.bias), unit = 0.0;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const int d = terms.columns[k];
        size += std::fabs(terms.weights[k]) * (std::fabs(x[d]) + std::fabs(f.source[d]));
        unit += std::fabs(terms.weights[k]) / f.scale[d];
    }
    const double share = question.tree.narrow ? 6e-8 : 1.2e-16 * static_cast<double>(terms.size() + 2);
    return share * size + 1e-16 * unit;
}

/// Where x is at a split that it is to pass on one side; ``seen``: the sum as the model sees it.
static Routed routed_at(const Question& question, Constants x, const Terms& terms, double sign, const Sum& seen) {
    const Tree& tree = question.tree;
    if (tree.goes_right(seen.total) != (sign > 0.0)) return Routed::Elsewhere;
    const double guard = static_cast<double>(terms.size() + 2) * ROUND;
    const Sum whole = tree.narrow ? terms.sum(x, false) : seen;
    if (question.guard > 0.0 && sign * whole.total < question.guard * whole.size) return Routed::Elsewhere;
    const bool clear = sign * seen.total >= guard * seen.size;
    if (question.margin == 0.0) return clear ? Routed::Safely : Routed::Barely;
    if (clear && sign * whole.total >= question.margin + guard * whole.size) return Routed::Safely;
    return sign * terms.exactly_at(x) >= question.margin ? Routed::Barely : Routed::Elsewhere;
}

Routed routed(const Question& question, Constants x, const Path& path, Numbers slack) {
    Routed all = Routed::Safely;
    for (std::size_t t = question.users(); t < path.size(); ++t) {
        const Terms terms = question.row(path.row[t]);
        const Routed here = routed_at(question, x, terms, path.sign[t], terms.sum(x, question.tree.narrow));
        all = std::min(all, here);
        if (here != Routed::Safely) slack[t] = std::max(2.0 * slack[t], 2.0 * rounding(question, x, terms));
    }
    return all;
}

bool is_routed(const Question& question, Constants x, const Path& path) {
    for (std::size_t t = question.users(); t < path.size(); ++t)
        if (const Terms terms = question.row(path.row[t]);
            routed_at(question, x, terms, path.sign[t], terms.sum(x, question.tree.narrow)) == Routed::Elsewhere)
            return false;
    return true;
}

bool is_close(const Question& question, Constants x, const Path& path) {
    for (std::size_t t = question.users(); t < path.size(); ++t) {
        const Terms terms = question.row(path.row[t]);
        if (question.margin - path.sign[t] * terms.exactly_at(x) > 4.0 * rounding(question, x, terms)) return false;
    }
    return true;
}

/// By how much x misses a row of the user's, beyond what an answer may.
static double miss_of(const Question& question, Constants x, std::size_t user) {
    const Terms terms = question.limits.rows[user];
    const double total = terms.exactly_at(x), may = WIDE * std::max(question.sizes[user], terms.size_at(x));
    return (user < question.limits.equal ? std::fabs(total) : -total) - may;
}

bool obeys(const Question& question, Constants x) {
    for (std::size_t i = 0; i < question.users(); ++i)
        if (miss_of(question, x, i) > 0.0) return false;
    return true;
}

/// Move numbers of x that may take any value so that the sum of a row rises by ``by``: the shortest way, in units of the cost.
/// Those that the source has, and those at an end of the box, stay. Returns the longest way of one, as a share of the number.
static double shift(const Question& question, const Box& box, const Terms& terms, double by, bool coarse, Numbers x) {
    const Features& f = question.features;
    const auto can_move = [&](int d) {
        return x[d] != f.source[d] && box.lower(d) < x[d] && x[d] < box.upper(d) && question.layout.group[d] < 0 &&
               question.layout.step[d].is_free();
    };
    double most = 0.0, length = 0.0;
    for (std::size_t k = 0; k < terms.size(); ++k)
        if (const int d = terms.columns[k]; can_move(d)) most = std::max(most, std::fabs(terms.weights[k]) / f.scale[d]);
    if (!(most > 0.0)) return 0.0;
    double longest = 0.0;
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const double share = terms.weights[k] / f.scale[terms.columns[k]] / most;
        if (can_move(terms.columns[k])) length += share * share;
    }
    for (std::size_t k = 0; k < terms.size(); ++k) {
        const int d = terms.columns[k];
        if (!can_move(d)) continue;
        double to = x[d] + by / most * (terms.weights[k] / f.scale[d] / most / length) / f.scale[d];
        if (coarse) to = static_cast<double>(static_cast<float>(to));
        to = std::min(std::max(to, box.lower(d)), box.upper(d));
        if (std::fabs(to - x[d]) > longest * std::fabs(x[d])) longest = x[d] == 0.0 ? INF : std::fabs((to - x[d]) / x[d]);
        x[d] = to;
    }
    return longest;
}

bool mend(const Question& question, const Box& box, Numbers x) {
    constexpr int ROUNDS = 20;
    for (int round = 0; round < ROUNDS && !obeys(question, x); ++round)
        for (std::size_t i = 0; i < question.users(); ++i) {
            const Terms terms = question.limits.rows[i];
            const double total = terms.exactly_at(x);
            if (i < question.limits.equal || total < 0.0) shift(question, box, terms, -total, false, x);
        }
    return obeys(question, x);
}

bool push(const Question& question, const Path& path, const Box& box, bool coarse, Numbers x) {
    constexpr int ROUNDS = 3;
    constexpr double FAR = 1e-3, SHORT = 1e-6;  // of its terms: a sum this far from 0 is so after any short way
    std::size_t first = question.users(), last = path.size();  // the splits that are still to be looked at
    for (int round = 0; round < ROUNDS; ++round) {
        double longest = 0.0;
        std::size_t from = last, to = first;
        for (std::size_t t = first; t < last; ++t) {
            const Terms terms = question.row(path.row[t]);
            const Sum sum = terms.sum(x, question.tree.narrow);
            if (path.sign[t] * sum.total > FAR * sum.size + question.margin) continue;
            from = std::min(from, t), to = t + 1;
            if (routed_at(question, x, terms, path.sign[t], sum) == Routed::Safely) continue;
            const double count = static_cast<double>(terms.size()) + 3.0;
            const double share = std::max(1.25 * count * ROUND, question.guard) + (question.tree.narrow ? 0x1p-23 : 0.0);
            const double by = path.sign[t] * (question.margin + share * sum.size) - sum.total;
            longest = std::max(longest, shift(question, box, terms, by, coarse, x));
            if (longest == 0.0) return false;
        }
        if (longest == 0.0) return true;
        if (longest <= SHORT) first = from, last = to;
    }
    return false;
}

double coupled_cost(const Question& question, Constants x) {
    const Features& f = question.features;
    const Sparse& Q = question.coupling->matrix;
    double together = 0.0;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double change = x[d] - f.source[d];
        for (int k = Q.start[d]; k < Q.start[d + 1]; ++k) {
            const int e = Q.columns[k];
            together += Q.values[k] * change * (x[e] - f.source[e]);
        }
    }
    return std::max(together, 0.0);  // negative by rounding only
}

double cost_of(const Question& question, Constants x) {
    const Features& f = question.features;
    double alone = 0.0;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double change = x[d] - f.source[d];
        if (change != 0.0) alone += f.phi(d)(change);
    }
    return question.coupling == nullptr ? alone : alone + coupled_cost(question, x);
}

double length(const Question& question, Constants x) {
    const Features& f = question.features;
    double total = 0.0;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const double change = (x[d] - f.source[d]) * f.scale[d];
        total += change * change;
    }
    return total;
}

}  // namespace counterleaf
