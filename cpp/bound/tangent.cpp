#include "bound/tangent.hpp"

#include <cmath>

namespace counterleaf {
namespace {

constexpr double HAIR = 1e-9;    // the largest share by which multipliers are reduced
constexpr double NOISE = 1e-12;  // share of the terms of a price: a smaller price of a free change may be rounding

/// Row d of Q times y, in twice the working precision.
Ball product(const Sparse& Q, std::size_t d, Constants y) {
    BallSum sum;
    for (int k = Q.start[d]; k < Q.start[d + 1]; ++k) sum.add(Q.values[k], y[Q.columns[k]]);
    return sum.ball(Q.start[d + 1] - Q.start[d] + 2.0);
}

class TangentBound {
public:
    TangentBound(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam, Constants y,
                 Scratch& scratch)
        : question(question), path(path), box(box), at_source(at_source), f(question.features), lam(lam), y(y), frame(scratch),
          price(scratch.values<BallSum>(f.width())) {}

    ProvedBound run() {
        const double value = bound();
        return {value, lost + 8.0 * ROUND * terms, sure};
    }

private:
    double bound() {
        set_prices();
        for (int again = 0; again < 3; ++again) {
            const double hair = excess();
            if (hair == 0.0) break;
            if (!(hair <= HAIR)) return -INF;
            for (double& one : lam) one *= 1.0 - hair - 4.0 * ROUND;
            set_prices();
        }
        for (std::size_t t = 0; t < path.size(); ++t) {
            if (lam[t] == 0.0) continue;
            const double r = question.offset(path.row[t]) - path.sign[t] * at_source[t];
            add(lam[t] * r);
            lost += 2.0 * ROUND * std::fabs(lam[t]) * std::fabs(at_source[t]);
            if (t < question.user_rows()) add(-std::fabs(lam[t]) * question.tolerance(path.row[t]));
        }
        for (std::size_t d = 0; d < f.width(); ++d)
            if (question.layout.is_number(d) && !add_number(d)) return -INF;
        for (std::size_t g = 0; g < question.layout.groups(); ++g) add_group(g);
        add_charges();
        return total - lost - 8.0 * ROUND * terms;
    }

    void add(double term) {
        total += term;
        terms += std::fabs(term) + std::fabs(total) * 0.25;  // the rounding of the sum itself, given the factor 8 in ``run``
    }

    void set_prices() {
        std::ranges::fill(price, BallSum{});
        for (double& one : lam.subspan(question.limits.equal)) one = std::max(one, 0.0);
        each_price_term(question, path, lam, [&](int d, double a, double b) { price[d].add(a, b); });
    }

    Ball price_of(std::size_t d) const { return price[d].ball(static_cast<double>(path.size()) + 2.0); }
    double tangent_curve(std::size_t d) const { return question.coupling->tangent_curve[d]; }
    double lower(std::size_t d) const { return true_lower(question, box, d); }
    double upper(std::size_t d) const { return true_upper(question, box, d); }

    /// The share by which the multipliers are too large for an unbounded flat feature.
    double excess() const {
        double most = 0.0;
        for (std::size_t d = 0; d < f.width(); ++d) {
            if (!question.layout.is_number(d) || tangent_curve(d) > 0.0 || price[d].size == 0.0) continue;
            const auto [at, error] = price_of(d);
            if (is_free_but_for_rounding(d, at)) continue;
            const double high = at + error, low = at - error;
            if (upper(d) == INF && f.curve_up[d] == 0.0 && high > f.slope_up[d])
                most = std::max(most, (high - f.slope_up[d]) / high);
            if (lower(d) == -INF && f.curve_down[d] == 0.0 && low < f.slope_down[d])
                most = std::max(most, (f.slope_down[d] - low) / -low);
        }
        return std::isfinite(most) ? most : INF;
    }

    /// Whether a price on a number that moves without bound at no cost is small enough to be rounding. If it is not 0 in real
    /// arithmetic, the bound is minus infinity.
    bool is_free_but_for_rounding(std::size_t d, double at) const {
        const bool up = upper(d) == INF && f.curve_up[d] == 0.0 && f.slope_up[d] == 0.0;
        const bool down = lower(d) == -INF && f.curve_down[d] == 0.0 && f.slope_down[d] == 0.0;
        return (up || down) && tangent_curve(d) == 0.0 && std::fabs(at) <= NOISE * price[d].size;
    }

    /// Add the minimum of phi + separable d^2 + 2 slope d - price d and the constant of the tangent; false if it is unbounded.
    bool add_number(std::size_t d) {
        Ball slope{};
        if (tangent_curve(d) > 0.0) {
            const Ball along = product(question.coupling->matrix, d, y);
            slope.value = along.value - tangent_curve(d) * y[d];
            slope.error = along.error + 2.0 * ROUND * (std::fabs(along.value) + std::fabs(tangent_curve(d) * y[d]));
            add(-y[d] * slope.value);
            lost += std::fabs(y[d]) * slope.error;
        }
        Ball price_here = price_of(d);
        if (is_free_but_for_rounding(d, price_here.value)) {
            sure = sure && price[d].size == 0.0;
            price_here = {};
        }
        const double at = price_here.value - 2.0 * slope.value;
        const double error =
            price_here.error + 2.0 * slope.error + 2.0 * ROUND * (std::fabs(price_here.value) + 2.0 * std::fabs(slope.value));
        const double one = least(d, at - error), other = least(d, at + error);
        if (!(one > -INF && other > -INF)) return false;
        add(std::min(one, other));
        return true;
    }

    /// The minimum of phi + separable d^2 - at d over the box, on the grid.
    double least(std::size_t d, double at) {
        Phi phi = f.phi(d);
        phi.curve_up += tangent_curve(d), phi.curve_down += tangent_curve(d);
        const double source = f.source[d], low = lower(d), high = upper(d);
        const double change = phi.respond(at, low - source, high - source);
        if (std::isinf(change)) return -INF;
        const auto value = [&](double by) {
            const double cost = phi(by), earned = at * by, slope = by > 0.0 ? phi.slope_up : phi.slope_down;
            terms += std::fabs(cost) + std::fabs(slope * by) + std::fabs(earned);  // the terms of phi may cancel
            return cost - earned;
        };
        const Step& step = question.layout.step[d];
        if (step.is_free()) return value(change);
        const double x = source + change, under = std::max(step.below(source, x), low),
                     over = std::min(step.above(source, x), high);
        return std::min(value(under - source), value(over - source));
    }

    /// Add the best remaining value of a group.
    void add_group(std::size_t g) {
        double best = INF, most = 0.0;
        for (int v = question.layout.first[g]; v < question.layout.last[g]; ++v) {
            if (!(box.upper(v) > 0.0)) continue;
            const Ball at = price_of(v);
            best = std::min(best, f.slope_up[v] - at.value - at.error);
            most = std::max(most, std::fabs(f.slope_up[v]) + std::fabs(at.value));
        }
        const int stay = question.source_choice[g];
        const Ball at = price_of(stay);
        add(best);
        add(-f.slope_up[stay]);
        add(at.value);
        lost += at.error + 4.0 * ROUND * most;
    }

    /// Add the charges of the features that change: those that forks have counted, and those that cannot stay in the box.
    void add_charges() {
        for (std::size_t d = 0, last = f.width(); d < f.width() && !question.charges.empty(); ++d) {
            const auto feature = static_cast<std::size_t>(question.layout.feature[d]);
            if (feature == last || (!box.quota.counted[feature] && box.holds(d, f.source[d]))) continue;
            add(question.charges[feature]);
            last = feature;
        }
    }

    const Question& question;
    const Path& path;
    const Box& box;
    const Constants at_source;
    const Features& f;
    const Numbers lam;
    const Constants y;
    const Scratch::Frame frame;
    const std::span<BallSum> price;  // of each variable
    double total = 0.0, terms = 0.0, lost = 0.0;
    bool sure = true;
};

}  // namespace

ProvedBound prove_bound_by_tangent(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                                   Constants y, Scratch& scratch) {
    return TangentBound(question, path, box, at_source, lam, y, scratch).run();
}

}  // namespace counterleaf
