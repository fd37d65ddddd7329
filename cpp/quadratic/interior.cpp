#include "quadratic/interior.hpp"

#include "linear/band.hpp"
#include "linear/dense.hpp"

namespace counterleaf {
namespace {

constexpr int STEPS = 80;
constexpr double TOLERANCE = 1e-12;  // relative to the terms of a residual, and to the cost
constexpr double NEAR = 1e-8;        // weight of the proximal term in the point
constexpr double SOFT = 1e-15;       // weight of the proximal term in the multipliers
constexpr double SHARE = 0.995;      // share of the distance to the boundary
constexpr double LEAST = 1e-17;      // the smallest target for the product of a distance and its multiplier

/// The distance to a bound and its multiplier, both positive; infinite and 0 if there is no bound.
struct Side {
    double room = INF, weight = 0.0;
    double off = 0.0;   // the difference between ``room`` and the distance
    double goal = 0.0;  // the target of room * weight minus its value
    double step_room = 0.0, step_weight = 0.0;

    bool exists() const { return room < INF; }
    bool outweighs() const { return exists() && weight > room; }
    double stiffness() const { return weight / room; }
    /// The force of the multiplier if the distance does not change.
    double push() const { return exists() ? (goal + weight * off) / room : 0.0; }
    /// Set the step that follows from a change of the distance.
    void follow(double change) {
        if (!exists()) return;
        step_room = change - off;
        step_weight = (goal - weight * step_room) / room;
    }
    /// The largest step up to ``most`` that leaves both nonnegative.
    double reach(double most) const {
        if (step_room < -room / most) most = -room / step_room;
        if (step_weight < -weight / most) most = -weight / step_weight;
        return most;
    }
    void move(double by) {
        if (!exists()) return;
        room += by * step_room;
        weight += by * step_weight;
    }
};

/// A feature, or one of the two halves whose difference it is.
struct Half {
    std::size_t feature;
    double sign, curve, slope, lower, upper;
    double x = 0.0, step = 0.0;
    double bend = 0.0, force = 0.0;  // coefficients of the equation  sign (2 P dz - A' dlam) + bend step = force
    Side below{}, above{};

    /// The force after the bounds are eliminated.
    double pushed() const { return force + below.push() - above.push(); }
};

class Interior {
public:
    Interior(const QuadraticProgram& program, const QuadraticState& found, Scratch& scratch)
        : p(program), m(program.m()), n(program.n()), lam(found.lam), z(found.z), piece(found.piece), frame(scratch),
          part(n, scratch), factor(program.P, scratch), E(scratch.numbers(n)), right(scratch.numbers(n)),
          step(scratch.numbers(n)), price(scratch.numbers(n)), size(scratch.numbers(n)), goal(scratch.numbers(m)),
          bend(scratch.numbers(m)), step_lam(scratch.numbers(m)), change(scratch.numbers(m)),
          X(scratch.grid(m + 1, padded(n) + Factor::padding)), Y(scratch.grid(m, padded(n) + padded(m))), S(scratch.grid(m, m)),
          slack(m) {
        split();
    }

    bool run(const Stop& stop) {
        start();
        for (int step_count = 0; step_count < STEPS; ++step_count) {
            if (stop() || !measure()) return false;
            if (solved) break;
            if (!prepare()) return false;
            aim(0.0, 0.0);
            direct();
            const double reached = reach(1.0);
            const double now = std::max(mean(0.0), LEAST), share = mean(reached) / now;
            aim(std::max(share * share * share * now, LEAST), reached * reached);
            direct();
            const double by = SHARE * reach(1.0 / SHARE);
            move(by);
            if (by < 1e-10) break;
        }
        place();
        return true;
    }

private:
    /// List the features that can move, as one half or two; the others stay at their bound.
    void split() {
        halves.reserve(2 * n);
        for (std::size_t j = 0; j < n; ++j) {
            z[j] = p.lower[j];
            if (!p.can_move(j)) continue;
            part.add(j);
            const double lower = p.lower[j], upper = p.upper[j];
            const bool bent = p.slope_up[j] != p.slope_down[j] || p.curve_up[j] != p.curve_down[j];
            if (bent && lower < 0.0 && upper > 0.0) {
                halves.push_back({j, 1.0, p.curve_up[j], p.slope_up[j], 0.0, upper});
                halves.push_back({j, -1.0, p.curve_down[j], -p.slope_down[j], 0.0, -lower});
            } else if (lower >= 0.0) {
                halves.push_back({j, 1.0, p.curve_up[j], p.slope_up[j], lower, upper});
            } else {
                halves.push_back({j, 1.0, p.curve_down[j], p.slope_down[j], lower, upper});
            }
        }
        part.reach(p.P);
        wide = padded(part.size());
    }

    bool is_pair(std::size_t h) const { return h + 1 < halves.size() && halves[h + 1].feature == halves[h].feature; }

    void set_point() {
        for (const Half& half : halves) z[half.feature] = 0.0;
        for (const Half& half : halves) z[half.feature] += half.sign * half.x;
    }

    /// Start near the source and away from the bounds, with equal products of distances and multipliers.
    void start() {
        for (Half& half : halves) {
            const double room = half.upper - half.lower, least = std::min(1.0, 0.25 * room);
            half.x = std::min(std::max(0.0, half.lower + least), half.upper - least);
        }
        set_point();
        double far = 1.0, steep = 1.0;
        for (std::size_t t = 0; t < m; ++t) far = std::max(far, std::fabs(miss(p, t, z).total));
        for (const Half& half : halves) steep = std::max(steep, std::fabs(half.slope));
        for (Half& half : halves) {
            if (half.lower > -INF) half.below.room = half.x - half.lower, half.below.weight = steep / half.below.room;
            if (half.upper < INF) half.above.room = half.upper - half.x, half.above.weight = steep / half.above.room;
        }
        std::ranges::fill(lam, 0.0);
        for (std::size_t t = p.equal; t < m; ++t) {
            slack[t].room = std::max(far, miss(p, t, z).total);
            slack[t].weight = lam[t] = steep / slack[t].room;
        }
    }

    template <class Visit>
    void each_side(Visit visit) {
        for (Half& half : halves) {
            if (half.below.exists()) visit(half.below);
            if (half.above.exists()) visit(half.above);
        }
        for (Side& side : slack)
            if (side.exists()) visit(side);
    }

    /// The mean of room * weight after a step.
    double mean(double by) {
        double total = 0.0;
        std::size_t count = 0;
        each_side([&](const Side& side) {
            total += (side.room + by * side.step_room) * (side.weight + by * side.step_weight);
            ++count;
        });
        return count > 0 ? total / static_cast<double>(count) : 0.0;
    }

    /// Compute the residuals ``off`` and ``force`` of all equations and whether they are small; returns false if they are not
    /// finite.
    bool measure() {
        set_point();
        std::ranges::fill(price, 0.0);
        std::ranges::fill(size, 0.0);
        for (std::size_t t = 0; t < m; ++t) p.rows.add(t, lam[t], price, size);
        double worst = 0.0;
        for (std::size_t i = 0; i < part.size(); ++i) {
            const std::size_t j = part[i];
            const auto [along, terms] = p.P.dot(j, z);
            price[j] -= 2.0 * along;
            size[j] += 2.0 * terms;
        }
        for (Half& half : halves) {
            half.force = half.sign * price[half.feature] - 2.0 * half.curve * half.x - half.slope + half.below.weight -
                         half.above.weight;
            const double terms = 1.0 + size[half.feature] + std::fabs(half.slope) + half.below.weight + half.above.weight;
            worst = std::max(worst, std::fabs(half.force) / terms);
            half.below.off = half.lower - half.x + half.below.room;  // NaN without a bound; not used then
            half.above.off = half.x - half.upper + half.above.room;
        }
        for (std::size_t t = 0; t < m; ++t) {
            const auto [total, terms] = miss(p, t, z);
            slack[t].off = t < p.equal ? -total : slack[t].room - total;
            worst = std::max(worst, std::fabs(slack[t].off) / (1.0 + terms));
        }
        double gap = 0.0;
        each_side([&](const Side& side) { gap += side.room * side.weight; });
        const double cost = cost_of(p, z);
        solved = worst <= TOLERANCE && gap <= TOLERANCE * (1.0 + std::fabs(cost));
        return std::isfinite(worst) && std::isfinite(gap) && std::isfinite(cost);
    }

    /// Factor the matrix of the step.
    bool prepare() {
        std::size_t i = 0;
        for (std::size_t h = 0; h < halves.size(); ++h, ++i) {
            Half& half = halves[h];
            half.bend = 2.0 * half.curve + half.below.stiffness() + half.above.stiffness() + NEAR;
            E[i] = half.bend;
            if (!is_pair(h)) continue;
            Half& other = halves[++h];
            other.bend = 2.0 * other.curve + other.below.stiffness() + other.above.stiffness() + NEAR;
            E[i] = half.bend / (half.bend + other.bend) * other.bend;
        }
        if (!factor.make(part, E)) return false;
        for (std::size_t t = 0; t < m; ++t) {
            bend[t] = SOFT + (t < p.equal ? 0.0 : slack[t].room / slack[t].weight);
            std::fill_n(X[t], wide + LANES, 0.0);
            part.add(p.rows[t], 1.0, X[t]);
        }
        factor.forward(X, m);
        for (std::size_t t = 0; t < m; ++t) orthogonalise(t);
        return true;
    }

    /// Compute line t of the factor S of X X' + bend by Gram-Schmidt, applied twice, on X followed by the roots of ``bend``.
    /// Forming the product would square the condition number.
    void orthogonalise(std::size_t t) {
        double* line = Y[t];
        std::copy_n(X[t], wide, line);
        std::fill_n(line + wide, Y.columns - wide, 0.0);
        line[wide + t] = std::sqrt(bend[t]);
        std::fill_n(S[t], t, 0.0);
        for (int again = 0; again < 2; ++again)
            for (std::size_t b = 0; b < t; ++b) {
                const double along = sweeps.dot(line, Y[b], wide + padded(m));
                sweeps.add(-along, Y[b], line, wide + padded(m));
                S[t][b] += along;
            }
        S[t][t] = std::sqrt(sweeps.dot(line, line, wide + padded(m)));
        for (std::size_t i = 0; i < wide + m; ++i) line[i] /= S[t][t];
    }

    /// Set the targets for the products of room and weight, corrected by a share of the second-order error of the last
    /// direction. The full correction would make the steps cycle if only a small part of that direction is possible.
    void aim(double mu, double share) {
        each_side([&](Side& side) {
            side.goal = mu - side.room * side.weight;
            if (share > 0.0) side.goal -= share * side.step_room * side.step_weight;
        });
    }

    /// Compute the Newton step to the targets.
    void direct() {
        std::size_t i = 0;
        for (std::size_t h = 0; h < halves.size(); ++h, ++i) {
            right[i] = halves[h].pushed();
            if (!is_pair(h)) continue;
            const double a = halves[h].bend, b = halves[h + 1].bend;
            right[i] = b / (a + b) * right[i] - a / (a + b) * halves[h + 1].pushed();
            ++h;
        }
        for (std::size_t t = 0; t < m; ++t) goal[t] = slack[t].off + (t < p.equal ? 0.0 : slack[t].goal / slack[t].weight);
        solve_step();
        i = 0;
        for (std::size_t h = 0; h < halves.size(); ++h, ++i) {
            halves[h].step = step[part[i]];
            if (is_pair(h)) {
                const double along = E[i] * step[part[i]] - right[i];
                halves[h].step = (halves[h].pushed() + along) / halves[h].bend;
                ++h;
                halves[h].step = (halves[h].pushed() - along) / halves[h].bend;
            }
        }
        for (Half& half : halves) {
            half.below.follow(half.step);
            half.above.follow(-half.step);
        }
        for (std::size_t t = p.equal; t < m; ++t) {
            slack[t].step_weight = step_lam[t];
            slack[t].step_room = (slack[t].goal - slack[t].room * step_lam[t]) / slack[t].weight;
        }
    }

    /// Solve (2 P + E) step - A' step_lam = right and A step + bend step_lam = goal, with one refinement.
    void solve_step() {
        std::ranges::fill(step, 0.0);
        std::ranges::fill(step_lam, 0.0);
        for (int pass = 0; pass < 2; ++pass) {
            double* w = X[m];
            for (std::size_t i = 0; i < part.size(); ++i)
                w[i] = right[i] - 2.0 * p.P.dot(part[i], step).total - E[i] * step[part[i]];
            std::fill_n(w + part.size(), wide + LANES - part.size(), 0.0);
            for (std::size_t t = 0; t < m; ++t) part.add(p.rows[t], step_lam[t], w);
            factor.forward({w, 1, X.columns}, 1);
            for (std::size_t t = 0; t < m; ++t)
                change[t] = goal[t] - p.rows.dot(t, step).total - bend[t] * step_lam[t] - sweeps.dot(X[t], w, wide);
            solve_cholesky(S, change);
            for (std::size_t t = 0; t < m; ++t) {
                step_lam[t] += change[t];
                sweeps.add(change[t], X[t], w, wide);
            }
            factor.backward(w);
            for (std::size_t i = 0; i < part.size(); ++i) step[part[i]] += w[i];
        }
    }

    double reach(double most) {
        each_side([&](const Side& side) { most = side.reach(most); });
        return most;
    }

    void move(double by) {
        for (Half& half : halves) half.x += by * half.step;
        each_side([&](Side& side) { side.move(by); });
        for (std::size_t t = 0; t < m; ++t) lam[t] = t < p.equal ? lam[t] + by * step_lam[t] : slack[t].weight;
    }

    /// Guess the pieces: a feature is at a bound if the multiplier exceeds the distance.
    void place() {
        for (std::size_t t = p.equal; t < m; ++t)
            if (!slack[t].outweighs()) lam[t] = 0.0;
        for (std::size_t j = 0; j < n; ++j) piece[j] = Piece::Low;
        for (std::size_t h = 0; h < halves.size(); ++h) {
            const Half& half = halves[h];
            const std::size_t j = half.feature;
            if (is_pair(h)) {
                const Half& other = halves[++h];
                if (half.below.outweighs() && other.below.outweighs())
                    piece[j] = p.slope_up[j] > p.slope_down[j] ? Piece::Kink : Piece::Up;
                else if (z[j] >= 0.0)
                    piece[j] = half.above.outweighs() ? Piece::High : Piece::Up;
                else
                    piece[j] = other.above.outweighs() ? Piece::Low : Piece::Down;
            } else if (half.below.outweighs()) {
                piece[j] = Piece::Low;
            } else if (half.above.outweighs()) {
                piece[j] = Piece::High;
            } else {
                piece[j] = z[j] >= 0.0 ? Piece::Up : Piece::Down;
            }
        }
    }

    const QuadraticProgram& p;
    const std::size_t m, n;
    const Numbers lam, z;
    const std::span<Piece> piece;
    const Scratch::Frame frame;
    Part part;  // the features that can move
    Factor factor;
    const Numbers E, right;                      // per feature of the part: the diagonal and the right-hand side
    const Numbers step, price, size;             // per feature
    const Numbers goal, bend, step_lam, change;  // per row
    const Grid X, Y, S;  // L^-1 A', one line per row; the same orthogonalised; the factor of the rows' system
    std::vector<Half> halves;
    std::vector<Side> slack;  // of the rows; an equality has none
    std::size_t wide = 0;
    bool solved = false;
};

}  // namespace

bool find_interior(const QuadraticProgram& program, const QuadraticState& found, Scratch& scratch, const Stop& stop) {
    return Interior(program, found, scratch).run(stop);
}

}  // namespace counterleaf
