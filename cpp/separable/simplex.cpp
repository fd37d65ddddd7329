#include "separable/simplex.hpp"

#include <cmath>

#include "base/rounding.hpp"
#include "linear/inverse.hpp"

namespace counterleaf {
namespace {

constexpr int PIVOTS = 500;
constexpr int GREEDY = 100;    // pivots by the largest violation; later ones take the first violation, to avoid cycles
constexpr double LARGE = 1e4;  // an inverse with larger entries has lost digits
constexpr double TOLERANCE = 1e-13;
constexpr double NOISE = 1e-13;

struct Threshold {
    double step;   // at which a feature's price reaches a slope
    double pivot;  // among equal steps the larger pivot comes first, for a well-conditioned basis
    int feature;

    friend bool later(const Threshold& a, const Threshold& b) { return a.step != b.step ? a.step > b.step : a.pivot < b.pivot; }
};

Seat moved(Seat seat, bool up) { return static_cast<Seat>(static_cast<int>(seat) + (up ? 1 : -1)); }

class Simplex {
public:
    Simplex(const Program& program, Basis basis, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch)
        : p(program), c(program.curves), m(program.m()), n(program.n), basic(basis.basic), seat(basis.seat), lam(lam),
          delta(delta), ray(ray), frame(scratch), inverse(scratch.grid(m, m)), K(scratch.grid(m, m)), small(scratch.grid(m, m)),
          rest(scratch.numbers(m)), rho(scratch.numbers(m)), price(scratch.numbers(program.A.columns)),
          price_step(scratch.numbers(program.A.columns)), terms(scratch.numbers(program.A.columns)),
          resting(scratch.numbers(program.A.columns)), inside(scratch.numbers(m)), tight(scratch.places(m)),
          inner(scratch.places(m)), all(scratch.places(m)), ahead(scratch.values<Threshold>(2 * n + 1)) {
        for (std::size_t t = 0; t < m; ++t) all[t] = static_cast<int>(t);
    }

    Status run() {
        std::ranges::fill(lam, 0.0);
        std::ranges::fill(resting, 0.0);
        std::ranges::fill(inside, 0.0);
        for (std::size_t j = 0; j < n; ++j) place(j, seat[j]);
        const Status status = pivot();
        if (status == Status::Converged) refine();
        std::ranges::copy(resting, delta.begin());
        for (std::size_t i = 0; i < m; ++i)
            if (basic[i].is_feature()) delta[basic[i].index] = inside[i];
        for (std::size_t t = p.equal; t < m; ++t) lam[t] = std::max(lam[t], 0.0);
        return status;
    }

private:
    Status pivot() {
        for (int count = 0; count < PIVOTS; ++count) {
            if (p.is_stopped() || !invert_basis()) return Status::Stuck;
            price_rows();
            if (!choose_leaving(count > GREEDY)) return Status::Converged;
            set_direction();
            find_stop();
            list_thresholds();
            if (!enter()) return farkas_gap(p, ray) > 1e-12 ? Status::Infeasible : Status::Stuck;
        }
        return Status::Stuck;
    }

    /// Refine the solution with residuals in twice the working precision: rows that are nearly opposite to each other leave an
    /// inverse with few correct digits.
    void refine() {
        std::size_t k = 0;
        double largest = 0.0;
        for (const Basic& one : basic) k += one.is_feature() ? 1 : 0;
        for (std::size_t b = 0; b < k; ++b)
            for (std::size_t a = 0; a < k; ++a) largest = std::max(largest, std::fabs(small[b][a]));
        for (int again = 0; again < 3 && largest > LARGE; ++again) {
            for (std::size_t b = 0; b < k; ++b) {
                const Basic& one = basic[inner[b]];
                Twofold miss{(one.segment == Segment::Up ? c.slope_up : c.slope_down)[one.index], 0.0};
                for (std::size_t a = 0; a < k; ++a) miss.add_product(-lam[tight[a]], p.A[tight[a]][one.index]);
                rho[b] = miss.value();
            }
            for (std::size_t a = 0; a < k; ++a)
                for (std::size_t b = 0; b < k; ++b) lam[tight[a]] += rho[b] * small[b][a];
            for (std::size_t a = 0; a < k; ++a) {
                Twofold miss{rest[tight[a]], 0.0};
                for (std::size_t b = 0; b < k; ++b) miss.add_product(-inside[inner[b]], p.A[tight[a]][basic[inner[b]].index]);
                rho[a] = miss.value();
            }
            for (std::size_t b = 0; b < k; ++b) {
                const std::size_t j = basic[inner[b]].index;
                for (std::size_t a = 0; a < k; ++a) inside[inner[b]] += small[b][a] * rho[a];
                inside[inner[b]] = std::min(std::max(inside[inner[b]], c.lower[j]), c.upper[j]);
            }
        }
    }

    double kink(std::size_t j) const { return std::min(std::max(0.0, c.lower[j]), c.upper[j]); }

    /// Invert the basis: first its features on the rows whose slack is not basic, then the remaining rows.
    bool invert_basis() {
        constexpr int UNUSED = -1;
        std::size_t k = 0, rows = 0;
        std::fill_n(inverse.data, m * m, 0.0);
        std::ranges::fill(tight, UNUSED);
        for (std::size_t i = 0; i < m; ++i) {
            if (basic[i].is_feature())
                inner[k++] = static_cast<int>(i);
            else
                tight[basic[i].index] = 0;
        }
        for (std::size_t t = 0; t < m; ++t)
            if (tight[t] == UNUSED) tight[rows++] = static_cast<int>(t);
        for (std::size_t a = 0; a < k; ++a)
            for (std::size_t b = 0; b < k; ++b) K[a][b] = p.A[tight[a]][basic[inner[b]].index];
        if (!invert(K, k, small)) return false;
        for (std::size_t b = 0; b < k; ++b)
            for (std::size_t a = 0; a < k; ++a) inverse[inner[b]][tight[a]] = small[b][a];
        for (std::size_t i = 0; i < m; ++i) {
            if (basic[i].is_feature()) continue;
            const int t = basic[i].index;
            inverse[i][t] = -1.0;
            for (std::size_t b = 0; b < k; ++b) {
                const double x = p.A[t][basic[inner[b]].index];
                for (std::size_t a = 0; a < k && x != 0.0; ++a) inverse[i][tight[a]] += x * small[b][a];
            }
        }
        return true;
    }

    /// Compute the multipliers of the basis and the right-hand side that its variables must satisfy.
    void price_rows() {
        std::ranges::fill(lam, 0.0);
        std::ranges::copy(p.r, rest.begin());
        for (std::size_t i = 0; i < m; ++i) {
            if (!basic[i].is_feature()) continue;
            const double slope = (basic[i].segment == Segment::Up ? c.slope_up : c.slope_down)[basic[i].index];
            for (std::size_t t = 0; t < m; ++t) lam[t] += slope * inverse[i][t];
        }
        for (std::size_t t = 0; t < m; ++t) rest[t] -= loops.dot(p.A[t], resting.data(), p.A.columns).total;
    }

    void place(std::size_t j, Seat to) {
        seat[j] = to;
        resting[j] = to == Seat::Basic ? 0.0 : to == Seat::Kink ? kink(j) : to == Seat::Upper ? c.upper[j] : c.lower[j];
    }

    /// Choose the basic variable furthest outside of its segment, or the first such; returns false if there is none.
    bool choose_leaving(bool first) {
        double noise = 0.0;
        bool found = false;
        for (double x : rest) noise = std::max(noise, 1e-15 * std::fabs(x));
        worst = 0.0;
        for (std::size_t i = 0; i < m; ++i) {
            double total = 0.0, size = 0.0, spread = 0.0;
            for (std::size_t t = 0; t < m; ++t) {
                const double term = inverse[i][t] * rest[t];
                spread = std::max(spread, std::fabs(inverse[i][t]));
                total += term;
                size += std::fabs(term);
            }
            const std::size_t j = basic[i].index;
            double least = 0.0, most = INF;
            if (basic[i].is_feature()) {
                least = basic[i].segment == Segment::Up ? kink(j) : c.lower[j];
                most = basic[i].segment == Segment::Up ? c.upper[j] : kink(j);
                inside[i] = std::min(std::max(total, least), most);
            } else if (j < p.equal) {
                most = 0.0;
            }
            if (found && first) continue;
            if (least - total > std::max({worst, TOLERANCE * (size + std::fabs(least)), spread * noise}))
                leave = i, found = below = true, worst = least - total;
            if (total - most > std::max({worst, TOLERANCE * (size + std::fabs(most)), spread * noise}))
                leave = i, found = true, below = false, worst = total - most;
        }
        return found;
    }

    /// lam moves along rho; the price of the leaving variable decreases (if ``below``) or increases.
    void set_direction() {
        double largest = 0.0;
        for (std::size_t t = 0; t < m; ++t) {
            rho[t] = (below ? -1.0 : 1.0) * inverse[leave][t];
            largest = std::max(largest, std::fabs(rho[t]));
        }
        for (double& x : rho)
            if (std::fabs(x) <= NOISE * largest) x = 0.0;  // rounding, which would otherwise offer pivots of its own size
        loops.blend_some(p.A, all.data(), m, rho.data(), price_step.data(), terms.data());
        loops.blend(p.A, lam.data(), price.data());
    }

    /// How far lam can move before the multiplier of a row reaches 0, and which row that is.
    void find_stop() {
        stop = INF, slack = -1;
        for (std::size_t t = p.equal; t < m; ++t) {
            if (!(rho[t] < 0.0) || !is_tight(t)) continue;
            const double bound = std::max(lam[t] / -rho[t], 0.0);
            if (bound < stop) stop = bound, slack = static_cast<int>(t);
        }
    }

    void add(double level, std::size_t j) {
        const double t = (level - price[j]) / price_step[j];  // a threshold behind, or ahead only by rounding, is here
        const double step = t > 1e-13 ? t : 0.0;
        if (step < stop) ahead[count++] = {step, std::fabs(price_step[j]), static_cast<int>(j)};
    }

    /// List the thresholds that the prices pass before a row stops them.
    void list_thresholds() {
        count = 0;
        for (std::size_t j = 0; j < n; ++j) {
            if (seat[j] == Seat::Basic || std::fabs(price_step[j]) <= NOISE * terms[j]) {
                price_step[j] = 0.0;
                continue;
            }
            if (price_step[j] > 0.0) {
                if (seat[j] == Seat::Lower) add(c.slope_down[j], j);
                if (seat[j] != Seat::Upper) add(c.slope_up[j], j);
            } else {
                if (seat[j] == Seat::Upper) add(c.slope_up[j], j);
                if (seat[j] != Seat::Lower) add(c.slope_down[j], j);
            }
        }
        if (!basic[leave].is_feature()) return;
        const int out = basic[leave].index;
        const bool above = basic[leave].segment == Segment::Up;
        price_step[out] = below ? -1.0 : 1.0;
        place(out, below == above ? Seat::Kink : below ? Seat::Lower : Seat::Upper);
        if (seat[out] == Seat::Kink)  // the price may continue from one slope of the kink to the other
            ahead[count++] = {c.slope_up[out] - c.slope_down[out], 1.0, out};
    }

    bool is_tight(std::size_t t) const {
        return std::ranges::none_of(basic,
                                    [&](const Basic& one) { return !one.is_feature() && one.index == static_cast<int>(t); });
    }

    /// Pass thresholds while the dual increases, then let the last one or a slack enter; returns false if nothing stops lam.
    bool enter() {
        double slope = worst;
        const auto order = [](const Threshold& a, const Threshold& b) { return later(a, b); };
        std::ranges::make_heap(ahead.first(count), order);
        while (count > 0 && ahead[0].step < stop) {
            const int j = ahead[0].feature;
            const bool rises = price_step[j] > 0.0;
            std::ranges::pop_heap(ahead.first(count--), order);
            const double up = c.upper[j] - kink(j), down = kink(j) - c.lower[j];
            slope -= std::fabs(price_step[j]) * (rises == (seat[j] == Seat::Kink) ? up : down);
            if (slope <= TOLERANCE * worst) {
                basic[leave] = {j, (seat[j] == Seat::Kink) == rises ? Segment::Up : Segment::Down};
                place(j, Seat::Basic);
                return true;
            }
            place(j, moved(seat[j], rises));  // long step: pass this threshold
        }
        if (slack >= 0) {
            basic[leave] = {slack, Segment::Slack};
            return true;
        }
        std::ranges::copy(rho, ray.begin());
        return false;
    }

    const Program& p;
    const Curves& c;
    const std::size_t m, n;
    const std::span<Basic> basic;
    const std::span<Seat> seat;
    const Numbers lam, delta, ray;
    const Scratch::Frame frame;
    const Grid inverse, K, small;
    const Numbers rest, rho, price, price_step, terms;
    const Numbers resting, inside;  // the values of the features outside of the basis, and of the variables in it
    const Places tight, inner, all;
    const std::span<Threshold> ahead;
    std::size_t count = 0;  // thresholds ahead
    std::size_t leave = 0;  // the position in the basis that becomes vacant
    bool below = false;     // whether its variable is below its segment
    double worst = 0.0;     // how far it is outside
    double stop = INF;      // how far lam can move before the multiplier of a row reaches 0
    int slack = -1;         // that row
};

}  // namespace

void Basis::reset(const Program& program) const {
    const Curves& c = program.curves;
    for (std::size_t t = 0; t < basic.size(); ++t) basic[t] = {static_cast<int>(t), Segment::Slack};
    for (std::size_t j = 0; j < seat.size(); ++j)
        seat[j] = c.slope_up[j] < 0.0 ? Seat::Upper : c.slope_down[j] > 0.0 ? Seat::Lower : Seat::Kink;
}

Status simplex(const Program& program, Basis basis, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch) {
    return Simplex(program, basis, lam, delta, ray, scratch).run();
}

Status find_point(const Program& program, Numbers ray, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    Program free = program;
    const Numbers zero = scratch.numbers(program.A.columns);
    std::ranges::fill(zero, 0.0);
    free.curves.slope_up = free.curves.slope_down = zero.data();
    const Basis basis{scratch.values<Basic>(program.m()), scratch.values<Seat>(program.n)};
    basis.reset(free);
    return simplex(free, basis, scratch.numbers(program.m()), scratch.numbers(program.A.columns), ray, scratch);
}

}  // namespace counterleaf
