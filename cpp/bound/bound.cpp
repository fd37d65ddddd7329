#include "bound/bound.hpp"

#include <cmath>

#include "bound/limited_sum.hpp"

namespace counterleaf {
namespace {

constexpr double NOISE = 1e-12;  // of the terms of a price: less may be rounding

/// The prices of multipliers, and what rounding may have done to each.
void add_up(const Question& question, const Path& path, Constants lam, Numbers price, Numbers error) {
    std::ranges::fill(price, 0.0);
    std::ranges::fill(error, 0.0);
    each_price_term(question, path, lam, [&](int d, double a, double b) {
        price[d] += a * b;
        error[d] += std::fabs(a * b);
    });
    const auto count = lam.size() + 2 - static_cast<std::size_t>(std::ranges::count(lam, 0.0));
    for (double& one : error) one *= static_cast<double>(count) * ROUND;
}

/// The same as if in twice the precision.
void add_up_closely(const Question& question, const Path& path, Constants lam, Numbers price, Numbers error, Numbers size,
                    Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const std::span<Twofold> sums = scratch.values<Twofold>(price.size());
    std::ranges::fill(sums, Twofold{});
    std::ranges::fill(size, 0.0);
    each_price_term(question, path, lam, [&](int d, double a, double b) {
        sums[d].add_product(a, b);
        size[d] += std::fabs(a * b);
    });
    const double count = static_cast<double>(path.size()) + 2.0;
    for (std::size_t d = 0; d < price.size(); ++d) {
        price[d] = sums[d].value();
        error[d] = 2.0 * ROUND * std::fabs(price[d]) + 4.0 * count * count * ROUND * ROUND * size[d];
    }
}

}  // namespace

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

double placed(const Question& question, std::size_t d, double change, double lower, double upper) {
    const double origin = question.features.source[d];
    double to = origin + change;
    if (change == 0.0)
        to = origin;
    else if (change == lower - origin)
        to = lower;
    else if (change == upper - origin)
        to = upper;
    if (const Step& step = question.layout.step[d]; !step.is_free()) {
        const double under = step.below(origin, to), over = step.above(origin, to);
        to = to - under <= over - to ? under : over;
    }
    return std::min(std::max(to, lower), upper);
}

double box_bound(const Question& question, const Box& box, Numbers change) {
    const Features& f = question.features;
    Tally tally(question, box);
    for (std::size_t d = 0; d < f.width(); ++d) {
        const bool grouped = question.layout.group[d] >= 0;
        const Settled best = grouped ? Settled{-f.source[d], 0.0} : settle(question, d, 0.0, box.lower(d), box.upper(d));
        change[d] = best.change;
        if (!grouped) tally.add(d, f.horizon[d] == 0.0 ? best.worth : f.price(d, best.change));
    }
    for (std::size_t g = 0; g < question.layout.groups(); ++g) {
        const int v = cheapest(question, g, box.upper());
        change[v] += 1.0;
        tally.add(question.own[g], f.slope_up[v] - f.slope_up[question.own[g]]);
    }
    tally.total();
    double total = 0.0;  // of the same terms in the same order as the cost of that row
    for (std::size_t d = 0; d < f.width(); ++d) {
        if (tally.is_held(question.layout.feature[d])) change[d] = 0.0;
        if (std::isinf(change[d]) || f.price(d, change[d]) == -INF) return -INF;
        const bool grouped = question.layout.group[d] >= 0;
        const double by = grouped ? change[d] : placed(question, d, change[d], box.lower(d), box.upper(d)) - f.source[d];
        if (by != 0.0) total += f.phi(d)(by);
    }
    return total;
}

/// What number d adds to a bound at its price, whichever one within ``error`` of it is the true one; with the size of the
/// terms. About what that takes from the bound is added to ``lost``.
static Sum worth_of(const Question& question, const Box& box, std::size_t d, double price, double error, double& lost) {
    const double low = true_lower(question, box, d), high = true_upper(question, box, d);
    const Phi phi = question.features.phi(d);
    const Settled above = settle(question, d, price + error, low, high);
    const Settled below = error > 0.0 ? settle(question, d, price - error, low, high) : above;
    const Settled& worst = above.worth < below.worth ? above : below;
    if (worst.worth == -INF) return {-INF, 0.0};
    lost += error * std::fabs(worst.change);
    return {worst.worth, phi.size(worst.change) + (std::fabs(price) + error) * std::fabs(worst.change)};
}

/// What a group adds to a bound: its best value at these prices, against the source's own.
static Sum worth_of_group(const Question& question, const Box& box, std::size_t g, Constants price, Constants error) {
    const Constants cost = question.features.slope_up;
    const int own = question.own[g];
    double best = INF, size = 0.0;
    for (int v = question.layout.first[g]; v < question.layout.last[g]; ++v) {
        if (!(box.upper(v) > 0.0)) continue;
        const double off = error[v] + error[own];
        best = std::min(best, v == own ? 0.0 : (cost[v] - cost[own]) - (price[v] - price[own]) - off);
        size = std::max(size, std::fabs(cost[v]) + std::fabs(cost[own]) + std::fabs(price[v]) + std::fabs(price[own]) + off);
    }
    return {best, size};
}

/// Add up what numbers and groups are worth at these prices; ``size`` gets that of the terms, ``lost`` what errors took.
static void add_worth(const Question& question, const Box& box, Constants price, Constants error, Tally& tally, double& size,
                      double& lost) {
    for (std::size_t d = 0; d < question.features.width(); ++d) {
        if (question.layout.group[d] >= 0) continue;
        const Sum worth = worth_of(question, box, d, price[d], error[d], lost);
        tally.add(d, worth.total), size += worth.size;
    }
    for (std::size_t g = 0; g < question.layout.groups(); ++g) {
        const Sum worth = worth_of_group(question, box, g, price, error);
        tally.add(question.own[g], worth.total), size += worth.size;
    }
}

/// Hold prices within the slopes of what moves without end, with the multipliers; false if one cannot be held but by rounding.
static bool hold_back(const Question& question, const Box& box, Numbers lam, Numbers price, Numbers error, Constants size) {
    const Features& f = question.features;
    const auto fits = [&](Leash& to, std::size_t d, double by) {
        const double low = true_lower(question, box, d), high = true_upper(question, box, d);
        return to.add(f.phi(d), by * price[d], by * error[d], low, high);
    };
    const auto share_at = [&](double by) {
        Leash leash;
        bool all = true;
        for (std::size_t d = 0; d < f.width(); ++d)
            if (question.layout.group[d] < 0) all = fits(leash, d, by) && all;
        return all ? leash.share() : NONE;
    };
    const double share = share_at(1.0);
    if (share == 1.0) return true;
    if (share < 1.0 || share_at(share) == 1.0) {  // where they grow, others may not allow it
        for (const Numbers numbers : {lam, price, error})
            for (double& one : numbers) one *= share;
        return true;
    }
    for (std::size_t d = 0; d < f.width(); ++d) {
        Leash own;
        if (question.layout.group[d] >= 0 || (fits(own, d, 1.0) && own.share() == 1.0)) continue;
        const double to = std::min(std::max(price[d], f.slope_down[d]), f.slope_up[d]);
        const double room = NOISE * (size[d] + std::fabs(f.slope_up[d]) + std::fabs(f.slope_down[d]));
        if (std::fabs(price[d] - to) <= room) price[d] = to, error[d] = 0.0;
    }
    return false;
}

Assured proved(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Features& f = question.features;
    const Numbers price = scratch.numbers(f.width()), error = scratch.numbers(f.width());
    add_up(question, path, lam, price, error);
    const Numbers size_of = scratch.numbers(f.width());
    for (std::size_t d = 0; d < f.width(); ++d) size_of[d] = error[d] / ROUND;
    const bool sure = hold_back(question, box, lam, price, error, size_of);
    double total = 0.0, size = 0.0, lost = 0.0;
    for (std::size_t t = 0; t < path.size(); ++t) {
        if (lam[t] == 0.0) continue;
        const Terms terms = question.row(path.row[t]);
        const double r = question.offset(path.row[t]) - path.sign[t] * at_source[t];
        const double give = question.give(path.row[t]) + terms.exact_to(terms.size_at(f.source));
        total += lam[t] * r - std::fabs(lam[t]) * give;
        size += std::fabs(lam[t]) * (std::fabs(at_source[t]) + question.offset(path.row[t]));
    }
    Tally tally(question, box);
    add_worth(question, box, price, error, tally, size, lost);
    total += tally.total();
    const double rounding = static_cast<double>(f.width() + path.size() + 8) * ROUND * size;
    return {total - rounding, lost + rounding, sure};
}

Assured proved_closely(const Question& question, const Path& path, const Box& box, Numbers lam, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Features& f = question.features;
    const Numbers price = scratch.numbers(f.width()), error = scratch.numbers(f.width()), size_of = scratch.numbers(f.width());
    for (int again = 0; again < 3; ++again) {
        add_up_closely(question, path, lam, price, error, size_of, scratch);
        Leash leash, tight;
        bool fits = true;
        for (std::size_t d = 0; d < f.width(); ++d) {
            if (question.layout.group[d] >= 0) continue;
            const double low = true_lower(question, box, d), high = true_upper(question, box, d);
            fits = leash.add(f.phi(d), price[d], error[d], low, high) && fits;
            // multipliers that shrink are rounded, and their prices with them
            tight.add(f.phi(d), price[d], error[d] + 1.5 * ROUND * size_of[d], low, high);
        }
        if (!fits || leash.share() == 1.0 || !(tight.share() < 1.0)) break;
        for (double& one : lam) one *= tight.share();
    }
    const bool sure = hold_back(question, box, lam, price, error, size_of);
    Twofold total;
    double size = 0.0, give = 0.0, lost = 0.0;
    for (std::size_t t = 0; t < path.size(); ++t) {
        if (lam[t] == 0.0) continue;
        const Terms terms = question.row(path.row[t]);
        const bool equal = path.row[t] >= static_cast<int>(question.tree.nodes.size()) && t < question.limits.equal;
        const auto [high, low] = terms.twofold_at(f.source);
        const double whole = high + low, may = question.give(path.row[t]);
        give += std::fabs(lam[t]) * (may + 4.0 * terms.exact_to(terms.size_at(f.source)));
        total.add_product(lam[t], question.offset(path.row[t]));
        if (-may <= whole && whole <= (equal ? may : 0.0) && may > 0.0) continue;  // met to rounding
        total.add_product(-lam[t] * path.sign[t], high);
        total.add_product(-lam[t] * path.sign[t], low);
        give += 4.0 * ROUND * ROUND * std::fabs(lam[t]) * std::fabs(high);
    }
    Tally tally(question, box);
    add_worth(question, box, price, error, tally, size, lost);
    total.add(tally.total());
    const double rounding = 16.0 * ROUND * (size + std::fabs(total.value())) + give;
    const double value = total.value() - rounding;
    return {value > -INF ? value : -INF, rounding + lost, sure};
}

}  // namespace counterleaf
