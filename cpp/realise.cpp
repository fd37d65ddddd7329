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

/// Where x is at a split that it is to pass on one side.
static Routed routed_at(const Question& question, Constants x, const Terms& terms, double sign) {
    const Tree& tree = question.tree;
    const Sum seen = terms.sum(x, tree.narrow);
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
        const Routed here = routed_at(question, x, terms, path.sign[t]);
        all = std::min(all, here);
        if (here != Routed::Safely) slack[t] = std::max(2.0 * slack[t], 2.0 * rounding(question, x, terms));
    }
    return all;
}

bool is_routed(const Question& question, Constants x, const Path& path) {
    for (std::size_t t = question.users(); t < path.size(); ++t)
        if (routed_at(question, x, question.row(path.row[t]), path.sign[t]) == Routed::Elsewhere) return false;
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

bool mend(const Question& question, const Box& box, Numbers x) {
    constexpr int ROUNDS = 20;
    const Features& f = question.features;
    for (int round = 0; round < ROUNDS; ++round) {
        if (obeys(question, x)) return true;
        for (std::size_t i = 0; i < question.users(); ++i) {
            const Terms terms = question.limits.rows[i];
            const double total = terms.exactly_at(x);
            if (i >= question.limits.equal && total >= 0.0) continue;
            const auto can_move = [&](int d) {
                return question.layout.group[d] < 0 && question.layout.step[d].is_free() && box.lower(d) < x[d] &&
                       x[d] < box.upper(d);
            };
            double length = 0.0;  // the shortest way onto the row, in units of the cost
            for (std::size_t k = 0; k < terms.size(); ++k)
                if (const int d = terms.columns[k]; can_move(d)) length = std::hypot(length, terms.weights[k] / f.scale[d]);
            for (std::size_t k = 0; k < terms.size() && length > 0.0; ++k) {
                const int d = terms.columns[k];
                if (!can_move(d)) continue;
                const double to = x[d] - total / length * (terms.weights[k] / f.scale[d] / length) / f.scale[d];
                x[d] = std::min(std::max(to, box.lower(d)), box.upper(d));
            }
        }
    }
    return obeys(question, x);
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
