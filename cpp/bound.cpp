#include "bound.hpp"

#include <cmath>

#include "tally.hpp"

namespace counterleaf {

Settled settle(const Question& question, std::size_t d, double price, double lower, double upper) {
    const Features& f = question.features;
    const Phi phi = f.phi(d);
    const double own = f.source[d], change = phi.respond(price, lower - own, upper - own);
    if (std::isinf(change)) return {change, -INF};
    const Step& step = question.layout.step[d];
    if (!step.is_free() && change != 0.0) {
        const double x = own + change, low = step.below(own, x), high = step.above(own, x);
        if (low < high) {
            const double a = std::max(low, lower) - own, b = std::min(high, upper) - own;
            const double worth_a = phi(a) - price * a, worth_b = phi(b) - price * b;
            return worth_a <= worth_b ? Settled{a, worth_a} : Settled{b, worth_b};
        }
    }
    return {change, phi(change) - price * change};
}

int cheapest(const Question& question, std::size_t g, Constants upper) {
    const Constants costs = question.features.slope_up;
    int best = -1;
    for (int v = question.layout.first[g]; v < question.layout.last[g]; ++v) {
        if (!(upper[v] > 0.0)) continue;
        if (best < 0 || costs[v] < costs[best] || (costs[v] == costs[best] && v == question.own[g])) best = v;
    }
    return best;
}

double box_bound(const Question& question, const Box& box, Numbers change) {
    const Features& f = question.features;
    Tally tally(question, box);
    for (std::size_t d = 0; d < f.width(); ++d) {
        if (question.layout.group[d] >= 0) {
            change[d] = -f.source[d];
            continue;
        }
        const Settled best = settle(question, d, 0.0, box.lower(d), box.upper(d));
        change[d] = best.change;
        tally.add(d, f.horizon[d] == 0.0 ? best.worth : f.price(d, best.change));
    }
    for (std::size_t g = 0; g < question.layout.groups(); ++g) {
        const int v = cheapest(question, g, box.upper());
        change[v] += 1.0;
        tally.add(question.own[g], f.slope_up[v] - f.slope_up[question.own[g]]);
    }
    const double total = tally.total();
    for (std::size_t d = 0; d < f.width(); ++d)
        if (tally.is_held(question.layout.feature[d])) change[d] = 0.0;
    return total;
}

/// What number d adds to a bound at its price; ``size`` is that of the price's terms.
static double worth_of(const Question& question, const Box& box, std::size_t d, double price, double size) {
    const Features& f = question.features;
    const double low = f.horizon[d] < 0.0 && box.lower(d) == f.lower[d] ? -INF : box.lower(d);
    const double high = f.horizon[d] > 0.0 && box.upper(d) == f.upper[d] ? INF : box.upper(d);
    const double up = f.slope_up[d], down = f.slope_down[d], room = 1e-12 * (size + std::fabs(up) + std::fabs(down));
    // only rounding, but an unbounded number would turn it into an infinite bound
    if (high == INF && f.curve_up[d] == 0.0 && up < price && price <= up + room) price = up;
    if (low == -INF && f.curve_down[d] == 0.0 && down > price && price >= down - room) price = down;
    return settle(question, d, price, low, high).worth;
}

double proved(const Question& question, const Path& path, const Box& box, Constants at_source, Constants lam,
              Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Features& f = question.features;
    const Numbers price = scratch.numbers(f.width()), size = scratch.numbers(f.width());
    std::ranges::fill(price, 0.0);
    std::ranges::fill(size, 0.0);
    double total = 0.0;
    for (std::size_t t = 0; t < path.size(); ++t) {
        if (lam[t] == 0.0) continue;
        const Terms terms = question.row(path.row[t]);
        total += lam[t] * (question.offset(path.row[t]) - path.sign[t] * at_source[t]);
        for (std::size_t k = 0; k < terms.size(); ++k) {
            const double term = lam[t] * path.sign[t] * terms.weights[k];
            price[terms.columns[k]] += term;
            size[terms.columns[k]] += std::fabs(term);
        }
    }
    Tally tally(question, box);
    for (std::size_t d = 0; d < f.width(); ++d)
        if (question.layout.group[d] < 0) tally.add(d, worth_of(question, box, d, price[d], size[d]));
    for (std::size_t g = 0; g < question.layout.groups(); ++g) {
        double best = INF;
        for (int v = question.layout.first[g]; v < question.layout.last[g]; ++v)
            if (box.upper(v) > 0.0) best = std::min(best, f.slope_up[v] - price[v]);
        const int own = question.own[g];
        tally.add(own, best - f.slope_up[own] + price[own]);
    }
    return total + tally.total();
}

}  // namespace counterleaf
