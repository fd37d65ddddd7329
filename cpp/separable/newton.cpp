#include "separable/newton.hpp"

#include <cmath>

#include "base/rounding.hpp"
#include "linear/normal.hpp"
#include "separable/group_response.hpp"

namespace counterleaf {
namespace {

/// The tolerances of an iteration. Rounding changes the supports of groups, so problems with groups stop a little earlier.
struct Precision {
    int steps;
    double tolerance;  // relative to the terms of a row
    double first;      // the same for a warm start, which must notice a row that moved by its rounding error
    double gain;       // relative to the value: a smaller gain is not progress
    double damping;    // the smallest damping
    double bend;       // relative to the terms of a slope: a smaller value is not curvature
    double overshoot;  // relative to a step that the largest possible curvature would allow
};
constexpr Precision NUMBERS{300, 1e-13, 1e-16, 1e-15, 1e-14, 0.0, 1e-3};
constexpr Precision GROUPS{100, 1e-12, 1e-12, 1e-14, 1e-12, 1e-14, 1e-2};
constexpr Precision FINE{300, 1e-13, 1e-16, 1e-15, 1e-30, 0.0, 1e-3};  // for rows that are nearly opposite to each other
constexpr double PROOF = 1e-12;  // a Farkas vector is a proof if its gap exceeds this share of its terms
constexpr double ENOUGH = 1e-8;  // with groups, where rounding stops progress: the bound is off by the square of this

class Newton {
public:
    Newton(const Program& program, bool fine, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch)
        : p(program), c(program.curves), precision(program.groups.size() > 0 ? GROUPS
                                                   : fine                    ? FINE
                                                                             : NUMBERS),
          m(program.m()), n(program.A.columns), lam(lam), delta(delta), ray(ray), scratch(scratch), frame(scratch),
          price(scratch.numbers(n)), price_step(scratch.numbers(n)), weight(scratch.numbers(n)), terms(scratch.numbers(n)),
          gradient(scratch.numbers(m)), size(scratch.numbers(m)), step(scratch.numbers(m)), best(scratch.numbers(m)),
          free(scratch.places(m)), R(scratch.grid(m, m)), centred(program.A),
          group_response(program, price, price_step, scratch), damping(precision.damping) {
        if (p.groups.size() == 0) return;
        centred = scratch.grid(m, n);
        std::copy_n(p.A.data, m * n, centred.data);
        for (std::size_t j = p.numbers; j < n; ++j) delta[j] = weight[j] = 0.0;
    }

    Bound run() {
        double best_value = -INF;
        int idle = 0;
        for (int iteration = 0; iteration < precision.steps; ++iteration) {
            const double value = evaluate();
            const double miss = worst_miss();
            const bool solved = miss <= (iteration > 0 ? precision.tolerance : precision.first);
            if (value - best_value > precision.gain * std::fabs(value) || solved) {
                best_value = value;
                idle = 0;
                std::ranges::copy(lam, best.begin());
            } else {
                ++idle;
            }
            if (solved || (p.groups.size() > 0 && idle >= 2 && miss <= ENOUGH)) return {Status::Converged, value};
            if (p.is_stopped()) return {Status::Stuck, best_value};
            if (idle >= 4) break;
            choose_direction();
            const double t = line_search();
            if (t == INF) {
                if (farkas_gap(p, ray) > PROOF) return {Status::Infeasible, INF};
                std::ranges::copy(best, lam.begin());
                return {Status::Stuck, best_value};
            }
            move(t);
        }
        return polish(best_value);
    }

private:
    /// Respond to the prices of lam; returns the sum of phi.
    double respond() {
        loops.blend(p.A, lam.data(), price.data());
        double value = loops.respond(price.data(), c, p.numbers, delta.data(), weight.data());
        for (std::size_t g = 0; g < p.groups.size(); ++g) value += group_response.respond(g, delta, weight, centred);
        return value;
    }

    /// Compute the responses to the prices of lam, and the gradient; returns q(lam).
    double evaluate() {
        double value = respond(), most = 0.0;
        for (std::size_t t = 0; t < m; ++t) {
            const auto [total, terms_of] = loops.dot(p.A[t], delta.data(), n);
            gradient[t] = p.r[t] - total;
            size[t] = std::fabs(p.r[t]) + terms_of;
        }
        for (std::size_t t = 0; t < m; ++t) {
            value += lam[t] * gradient[t];
            most = std::max(most, size[t]);
        }
        for (double& terms_of : size) terms_of = std::max(terms_of, SMALL * most);
        return value;
    }

    bool holds_back(std::size_t t) const { return t >= p.equal && !(lam[t] > 0.0); }

    /// The largest violation of the optimality conditions, relative to the terms of the row.
    double worst_miss() const {
        double worst = 0.0;
        for (std::size_t t = 0; t < m; ++t) {
            const double off = holds_back(t) ? gradient[t] : std::fabs(gradient[t]);
            if (off > worst * size[t]) worst = off / size[t];
        }
        return worst;
    }

    /// The Newton step on the free rows: ``step`` on ``chosen``, ``ray`` on all rows, and ``price_step`` in prices.
    void choose_direction() {
        std::size_t count = 0;
        for (std::size_t t = 0; t < m; ++t)
            if (!holds_back(t) || gradient[t] > precision.tolerance * size[t]) free[count++] = static_cast<int>(t);
        while (true) {
            chosen = free.first(count);
            sound = factor_and_solve(damping);
            std::size_t remaining = 0;  // a row at lam = 0 leaves the free set if the direction would make it negative
            for (std::size_t a = 0; a < count; ++a)
                if (!holds_back(free[a]) || step[a] > 0.0) free[remaining++] = free[a];
            if (remaining == count) break;
            count = remaining;
        }
        reach = INF, rise = ascent = 0.0;
        hit = -1;
        std::ranges::fill(ray, 0.0);
        for (std::size_t a = 0; a < count; ++a) {
            const std::size_t t = chosen[a];
            ray[t] = step[a];
            rise += step[a] * p.r[t];
            ascent += step[a] * gradient[t];
            if (t >= p.equal && step[a] < 0.0 && -lam[t] / step[a] < reach) reach = -lam[t] / step[a], hit = chosen[a];
        }
        loops.blend_some(p.A, chosen.data(), count, step.data(), price_step.data(), terms.data());
        for (std::size_t j = 0; j < n; ++j)
            if (std::fabs(price_step[j]) <= 1e-2 * ROUNDING * terms[j]) price_step[j] = 0.0;
    }

    /// The Newton step on the chosen rows; false if they are nearly dependent.
    bool factor_and_solve(double damp) { return solve_normal({centred, chosen, weight, damp}, gradient, step, R, scratch); }

    /// The next t' > t at which the response of some feature changes its piece; inf if there is none.
    double next_break(double t) const {
        double first = INF;
        for (std::size_t j = 0; j < p.ungrouped(); ++j) {
            if (price_step[j] == 0.0) continue;
            const double low = c.lower[j], high = c.upper[j];
            const double at_high =
                high > 0.0 ? c.slope_up[j] + 2.0 * c.curve_up[j] * high : c.slope_down[j] + 2.0 * c.curve_down[j] * high;
            const double at_low =
                low < 0.0 ? c.slope_down[j] + 2.0 * c.curve_down[j] * low : c.slope_up[j] + 2.0 * c.curve_up[j] * low;
            for (double level : {c.slope_up[j], c.slope_down[j], at_high, at_low}) {
                const double at = (level - price[j]) / price_step[j];
                if (t < at && at < first) first = at;
            }
        }
        for (std::size_t g = 0; g < p.groups.size(); ++g) first = std::min(first, group_response.next_break(g, t));
        return first;
    }

    /// price_step @ d, its derivative and the size of its terms, at the prices ``price`` + t ``price_step``.
    Slope slope_at(double t) const {
        Slope out = loops.slope_at(t, price.data(), price_step.data(), c, p.numbers);
        for (std::size_t g = 0; g < p.groups.size(); ++g) group_response.add_slope(g, t, out);
        return out;
    }

    /// The first trial step. A step that only damping limits may be far too long; no root lies before ascent / most.
    double first_trial() const {
        const double t = std::min(1.0, reach);
        if (sound && p.groups.size() == 0) return t;
        double most = 0.0;
        for (std::size_t j = 0; j < p.ungrouped(); ++j) {
            if (price_step[j] == 0.0) continue;
            const double bend = std::min(c.upper[j] > 0.0 ? c.curve_up[j] : INF, c.lower[j] < 0.0 ? c.curve_down[j] : INF);
            most += 0.5 * price_step[j] * price_step[j] / bend;
        }
        for (std::size_t g = 0; g < p.groups.size(); ++g) {
            const auto [least, largest] =
                std::minmax_element(price_step.begin() + p.groups.start[g], price_step.begin() + p.groups.start[g + 1]);
            most += 0.5 * (*largest - *least) * (*largest - *least);
        }
        return ascent < precision.overshoot * most * t ? std::min(ascent / most, t) : t;
    }

    /// The maximiser of q on 0 <= t <= reach along the direction; inf if q is unbounded.
    ///
    /// The slope rise - price_step @ d(price + t price_step), which is ``ascent`` at t = 0, decreases and is piecewise linear.
    /// Newton's method inside a bracket finds its root. Invariant: slope(low) > 0 >= slope(high).
    double line_search() const {
        double low = 0.0, high = INF, t = first_trial();
        bool nudged = false;
        for (int trial = 0; trial < 200; ++trial) {
            const auto [total, bend, terms_of] = slope_at(t);
            const double slope = rise - total;
            const double all = terms_of + std::fabs(rise);
            if (std::fabs(slope) <= 1e-15 * all) return t;
            if (slope > 0.0) {
                low = t;
                if (t >= reach) return t;
            } else {
                high = t;
            }
            if (high < INF && high - low <= 1e-15 * high) return low > 0.0 ? low : high;
            if (bend > precision.bend * all) {
                t += slope / bend;
            } else if (slope > 0.0) {
                t = next_break(low);
                if (t == INF && reach == INF && high == INF) {
                    if (nudged) return INF;
                    t = low;  // the last break may be exactly here: try once just behind it
                    nudged = true;
                }
                t *= 1.0 + 1e-12;
            } else {
                t = low;
            }
            if (!(low < t && t < high)) t = high < INF ? 0.5 * (low + high) : 2.0 * low + 1e-300;
            t = std::min(t, reach);
        }
        return low > 0.0 ? low : t;
    }

    void move(double t) {
        double largest = 0.0;
        for (std::size_t a = 0; a < chosen.size(); ++a) {
            const int i = chosen[a];
            lam[i] += t * step[a];
            largest = std::max(largest, std::fabs(lam[i]));
            if (i == hit && t >= reach) lam[i] = 0.0;
        }
        for (double& one : lam.subspan(p.equal))
            if (one <= 1e-16 * largest) one = 0.0;  // rounding of a row that is no longer tight
        if (t < 1e-2) damping = std::min(1.0, damping * 100.0);
        if (t > 0.5) damping = std::max(precision.damping, damping * 1e-2);
    }

    /// Handle the case that rounding stops progress. Prices from large multipliers that cancel cannot place the point any
    /// better, but small corrections to the point can, because they do not involve the large numbers.
    Bound polish(double best_value) {
        std::ranges::copy(best, lam.begin());
        std::ranges::copy(best, ray.begin());
        if (farkas_gap(p, ray) > PROOF) return {Status::Infeasible, INF};
        if (p.groups.size() > 0) return {Status::Stuck, best_value};
        respond();
        const double largest = largest_of(lam);
        std::size_t count = 0;
        for (std::size_t t = 0; t < m; ++t)
            if (t < p.equal || lam[t] > 1e-12 * largest) free[count++] = static_cast<int>(t);
        chosen = free.first(count);
        if (&precision == &FINE) sharpen();
        for (int again = 0; again < 3; ++again) {
            for (std::size_t t = 0; t < m; ++t) gradient[t] = p.r[t] - loops.dot(p.A[t], delta.data(), n).total;
            factor_and_solve(precision.damping);
            for (std::size_t j = 0; j < p.n; ++j) {
                if (!(weight[j] > 0.0)) continue;
                double shift = 0.0;
                for (std::size_t a = 0; a < count; ++a) shift += step[a] * p.A[chosen[a]][j];
                delta[j] = std::min(std::max(delta[j] + weight[j] * shift, c.lower[j]), c.upper[j]);
            }
        }
        // between nearly opposite rows, the point is moved onto its faces later, when it becomes a row
        return {violation(p, delta) <= (&precision == &FINE ? 1e-5 : 1e-11) ? Status::Converged : Status::Stuck, best_value,
                true, true};
    }

    /// Respond to prices summed in twice the working precision; returns the largest miss of a chosen row.
    double respond_closely() {
        for (std::size_t j = 0; j < p.n; ++j) {
            Twofold sum;
            for (std::size_t t = 0; t < m; ++t) sum.add_product(lam[t], p.A[t][j]);
            price[j] = sum.value();
        }
        loops.respond(price.data(), c, p.numbers, delta.data(), weight.data());
        double worst = 0.0;
        for (const int t : chosen) {
            Twofold miss{p.r[t], 0.0};
            for (std::size_t j = 0; j < p.n; ++j) miss.add_product(-p.A[t][j], delta[j]);
            gradient[t] = miss.value();
            worst = std::max(worst, std::fabs(gradient[t]));
        }
        return worst;
    }

    /// Take Newton steps on the chosen rows, as long as their misses decrease, for multipliers that are accurate to the last
    /// digits.
    void sharpen() {
        std::ranges::copy(lam, best.begin());
        double miss = respond_closely();
        for (int again = 0; again < 6; ++again) {
            factor_and_solve(precision.damping);
            bool holds = true;
            for (std::size_t a = 0; a < chosen.size(); ++a) {
                lam[chosen[a]] += step[a];
                holds = holds && (chosen[a] < static_cast<int>(p.equal) || lam[chosen[a]] >= 0.0);
            }
            const double next = respond_closely();
            if (!holds || !(next < miss)) break;
            miss = next;
            std::ranges::copy(lam, best.begin());
        }
        std::ranges::copy(best, lam.begin());
        respond_closely();
    }

    const Program& p;
    const Curves& c;
    const Precision& precision;
    const std::size_t m, n;  // n: padded
    const Numbers lam, delta, ray;
    Scratch& scratch;
    const Scratch::Frame frame;
    const Numbers price, price_step, weight, terms;  // per feature
    const Numbers gradient, size, step, best;        // per row
    const Places free;
    const Grid R;
    Grid centred;  // A with the columns of groups minus their mean over the support
    GroupResponse group_response;
    Places chosen;       // the rows that the direction moves
    bool sound = true;   // whether these rows are independent
    double reach = INF;  // the step at which the first multiplier reaches 0
    double rise = 0.0, ascent = 0.0;
    int hit = -1;  // the row of that multiplier
    double damping;
};

}  // namespace

Bound newton(const Program& program, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch) {
    return Newton(program, false, lam, delta, ray, scratch).run();
}

Bound newton_finely(const Program& program, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch) {
    return Newton(program, true, lam, delta, ray, scratch).run();
}

}  // namespace counterleaf
