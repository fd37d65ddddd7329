#include "bound/bound.hpp"

#include <cmath>

#include "bound/change_sum.hpp"
#include "bound/forced_charges.hpp"
#include "bound/multiplier_scale.hpp"

namespace counterleaf {
namespace {

constexpr double NOISE = 1e-12;  // share of the terms of a price: smaller values may be rounding

/// The prices of multipliers, and the rounding error of each.
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

/// The same in twice the working precision.
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

BestChange best_change(const Question& question, std::size_t d, double price, double lower, double upper) {
    const Features& f = question.features;
    const Phi phi = f.phi(d);
    const double source = f.source[d], change = phi.respond(price, lower - source, upper - source);
    if (std::isinf(change)) return {change, -INF};
    const Step& step = question.layout.step[d];
    if (!step.is_free() && change != 0.0) {
        const double x = source + change, low = step.below(source, x), high = step.above(source, x);
        if (low < high) {
            const double a = std::max(low, lower) - source, b = std::min(high, upper) - source;
            const double worth_a = phi(a) - price * a, worth_b = phi(b) - price * b;
            return worth_a <= worth_b ? BestChange{a, worth_a} : BestChange{b, worth_b};
        }
    }
    return {change, phi(change) - price * change};
}

int cheapest(const Question& question, std::size_t g, Constants upper) {
    const Constants costs = question.features.slope_up;
    int best = -1;
    for (int v = question.layout.first[g]; v < question.layout.last[g]; ++v) {
        if (!(upper[v] > 0.0)) continue;
        if (best < 0 || costs[v] < costs[best] || (costs[v] == costs[best] && v == question.source_choice[g])) best = v;
    }
    return best;
}

double changed_number(const Question& question, std::size_t d, double change, double lower, double upper) {
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
    ChangeSum worth_sum(question, box, true);
    for (std::size_t d = 0; d < f.width(); ++d) {
        const bool grouped = !question.layout.is_number(d);
        const BestChange best =
            grouped ? BestChange{-f.source[d], 0.0} : best_change(question, d, 0.0, box.lower(d), box.upper(d));
        change[d] = best.change;
        if (!grouped) worth_sum.add(d, f.horizon[d] == 0.0 ? best.worth : f.price(d, best.change));
    }
    for (std::size_t g = 0; g < question.layout.groups(); ++g) {
        const int v = cheapest(question, g, box.upper());
        change[v] += 1.0;
        worth_sum.add(question.source_choice[g], f.slope_up[v] - f.slope_up[question.source_choice[g]]);
    }
    worth_sum.total();
    double total = 0.0, charges = 0.0;  // the same terms in the same order as in the cost of that row
    for (std::size_t d = 0, last = f.width(); d < f.width(); ++d) {
        const auto feature = static_cast<std::size_t>(question.layout.feature[d]);
        if (worth_sum.stays(question.layout.feature[d])) change[d] = 0.0;
        if (feature != last && worth_sum.moves(question.layout.feature[d])) charges += question.charge(feature);
        last = feature;
        if (std::isinf(change[d]) || f.price(d, change[d]) == -INF) return -INF;
        const bool grouped = !question.layout.is_number(d);
        const double by =
            grouped ? change[d] : changed_number(question, d, change[d], box.lower(d), box.upper(d)) - f.source[d];
        if (by != 0.0) total += f.phi(d)(by);
    }
    return total + charges;
}

/// The contribution of number d to a bound, for the worst price within ``error`` of its price, and the size of its terms. Adds
/// the approximate loss to ``lost``.
static Sum worth_of(const Question& question, const Box& box, std::size_t d, double price, double error, double& lost) {
    const double low = true_lower(question, box, d), high = true_upper(question, box, d);
    const Phi phi = question.features.phi(d);
    const BestChange above = best_change(question, d, price + error, low, high);
    const BestChange below = error > 0.0 ? best_change(question, d, price - error, low, high) : above;
    const BestChange& worst = above.worth < below.worth ? above : below;
    if (worst.worth == -INF) return {-INF, 0.0};
    lost += error * std::fabs(worst.change);
    return {worst.worth, phi.size(worst.change) + (std::fabs(price) + error) * std::fabs(worst.change)};
}

/// The contribution of a group to a bound: its best value at these prices, compared with the value of the source.
static Sum worth_of_group(const Question& question, const Box& box, std::size_t g, Constants price, Constants error) {
    const Constants cost = question.features.slope_up;
    const int stay = question.source_choice[g];
    double best = INF, size = 0.0;
    for (int v = question.layout.first[g]; v < question.layout.last[g]; ++v) {
        if (!(box.upper(v) > 0.0)) continue;
        const double off = error[v] + error[stay];
        best = std::min(best, v == stay ? 0.0 : (cost[v] - cost[stay]) - (price[v] - price[stay]) - off);
        size = std::max(size, std::fabs(cost[v]) + std::fabs(cost[stay]) + std::fabs(price[v]) + std::fabs(price[stay]) + off);
    }
    return {best, size};
}

/// Add up the contributions of numbers and groups; ``size`` receives the size of the terms, ``lost`` the loss through errors.
static void add_worth(const Question& question, const Box& box, Constants price, Constants error, ChangeSum& worth_sum,
                      double& size, double& lost) {
    for (std::size_t d = 0; d < question.features.width(); ++d) {
        if (!question.layout.is_number(d)) continue;
        const Sum worth = worth_of(question, box, d, price[d], error[d], lost);
        worth_sum.add(d, worth.total), size += worth.size;
    }
    for (std::size_t g = 0; g < question.layout.groups(); ++g) {
        const Sum worth = worth_of_group(question, box, g, price, error);
        worth_sum.add(question.source_choice[g], worth.total), size += worth.size;
    }
}

/// Scale multipliers and prices so that no unbounded flat piece has a price beyond its slope. Returns false if only rounding
/// can explain a remaining excess.
static bool hold_back(const Question& question, const Box& box, Numbers lam, Numbers price, Numbers error, Constants size) {
    const Features& f = question.features;
    const auto fits = [&](MultiplierScale& to, std::size_t d, double by) {
        const double low = true_lower(question, box, d), high = true_upper(question, box, d);
        return to.add(f.phi(d), by * price[d], by * error[d], low, high);
    };
    const auto share_at = [&](double by) {
        MultiplierScale scale;
        bool all = true;
        for (std::size_t d = 0; d < f.width(); ++d)
            if (question.layout.is_number(d)) all = fits(scale, d, by) && all;
        return all ? scale.factor() : NONE;
    };
    const double share = share_at(1.0);
    if (share == 1.0) return true;
    if (share < 1.0 || share_at(share) == 1.0) {  // larger multipliers may violate other slopes
        for (const Numbers numbers : {lam, price, error})
            for (double& one : numbers) one *= share;
        return true;
    }
    for (std::size_t d = 0; d < f.width(); ++d) {
        MultiplierScale alone;
        if (!question.layout.is_number(d) || (fits(alone, d, 1.0) && alone.factor() == 1.0)) continue;
        const double to = std::min(std::max(price[d], f.slope_down[d]), f.slope_up[d]);
        const double room = NOISE * (size[d] + std::fabs(f.slope_up[d]) + std::fabs(f.slope_down[d]));
        if (std::fabs(price[d] - to) <= room) price[d] = to, error[d] = 0.0;
    }
    return false;
}

ProvedBound prove_bound(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                        Scratch& scratch) {
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
        const double tolerance = question.tolerance(path.row[t]) + terms.exact_to(terms.size_at(f.source));
        total += lam[t] * r - std::fabs(lam[t]) * tolerance;
        size += std::fabs(lam[t]) * (std::fabs(at_source[t]) + question.offset(path.row[t]));
    }
    ChangeSum worth_sum(question, box, true, forced_charges(question, path, box));
    add_worth(question, box, price, error, worth_sum, size, lost);
    total += worth_sum.total();
    size += worth_sum.charges();
    const double rounding = static_cast<double>(f.width() + path.size() + 8) * ROUND * size;
    return {total - rounding, lost + rounding, sure};
}

ProvedBound prove_bound_closely(const Question& question, const Path& path, const Box& box, Numbers lam, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Features& f = question.features;
    const Numbers price = scratch.numbers(f.width()), error = scratch.numbers(f.width()), size_of = scratch.numbers(f.width());
    for (int again = 0; again < 3; ++again) {
        add_up_closely(question, path, lam, price, error, size_of, scratch);
        MultiplierScale scale, tight_scale;
        bool fits = true;
        for (std::size_t d = 0; d < f.width(); ++d) {
            if (!question.layout.is_number(d)) continue;
            const double low = true_lower(question, box, d), high = true_upper(question, box, d);
            fits = scale.add(f.phi(d), price[d], error[d], low, high) && fits;
            // scaled multipliers are rounded, and so are their prices
            tight_scale.add(f.phi(d), price[d], error[d] + 1.5 * ROUND * size_of[d], low, high);
        }
        if (!fits || scale.factor() == 1.0 || !(tight_scale.factor() < 1.0)) break;
        for (double& one : lam) one *= tight_scale.factor();
    }
    const bool sure = hold_back(question, box, lam, price, error, size_of);
    Twofold total;
    double size = 0.0, tolerance = 0.0, lost = 0.0;
    for (std::size_t t = 0; t < path.size(); ++t) {
        if (lam[t] == 0.0) continue;
        const Terms terms = question.row(path.row[t]);
        const bool equal = t < question.limits.equal;
        const auto [high, low] = terms.twofold_at(f.source);
        const double whole = high + low, may = question.tolerance(path.row[t]);
        tolerance += std::fabs(lam[t]) * (may + 4.0 * terms.exact_to(terms.size_at(f.source)));
        total.add_product(lam[t], question.offset(path.row[t]));
        if (-may <= whole && whole <= (equal ? may : 0.0) && may > 0.0) continue;  // met to rounding
        total.add_product(-lam[t] * path.sign[t], high);
        total.add_product(-lam[t] * path.sign[t], low);
        tolerance += 4.0 * ROUND * ROUND * std::fabs(lam[t]) * std::fabs(high);
    }
    ChangeSum worth_sum(question, box, true, forced_charges(question, path, box));
    add_worth(question, box, price, error, worth_sum, size, lost);
    total.add(worth_sum.total());
    size += worth_sum.charges();
    const double rounding = 16.0 * ROUND * (size + std::fabs(total.value())) + tolerance;
    const double value = total.value() - rounding;
    return {value > -INF ? value : -INF, rounding + lost, sure};
}

}  // namespace counterleaf
