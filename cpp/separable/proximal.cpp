#include "separable/proximal.hpp"

#include <cmath>

#include "linear/inverse.hpp"
#include "separable/newton.hpp"

namespace counterleaf {
namespace {

constexpr int OUTER = 60;            // the largest number of proximal points
constexpr double EXACT = 1e-11;      // relative to the terms: the tolerance of a solution
constexpr double DEPENDENT = 1e-20;  // relative to its square: a dependent row leaves at most this

double square(const double* x, std::size_t n) {
    double total = 0.0;
    for (std::size_t j = 0; j < n; ++j) total += x[j] * x[j];
    return total;
}

/// Orthonormalise row k against those before it; false if it depends on them.
bool adds(const Grid& frame, std::size_t k) {
    double* row = frame[k];
    const double before = square(row, frame.columns);
    for (int again = 0; again < 2; ++again)
        for (std::size_t i = 0; i < k; ++i) {
            double dot = 0.0;
            for (std::size_t j = 0; j < frame.columns; ++j) dot += frame[i][j] * row[j];
            for (std::size_t j = 0; j < frame.columns; ++j) row[j] -= dot * frame[i][j];
        }
    const double after = square(row, frame.columns);
    if (after <= DEPENDENT * before) return false;
    for (std::size_t j = 0; j < frame.columns; ++j) row[j] /= std::sqrt(after);
    return true;
}

/// Whether ``delta`` satisfies the rows and costs no more than ``lam`` proves.
bool is_optimal(const Program& p, Constants lam, Constants delta, Scratch& scratch) {
    double cost = 0.0, terms = 0.0, largest = 0.0;
    for (std::size_t j = 0; j < p.n; ++j) {
        if (std::isinf(delta[j])) return false;
        cost += p.phi(j)(delta[j]);
    }
    for (std::size_t t = 0; t < p.m(); ++t) {
        terms += std::fabs(lam[t] * p.r[t]);
        largest = std::max(largest, std::fabs(p.r[t]));
    }
    if (violation(p, delta) > EXACT) return false;
    const double value = dual_value(p, lam, scratch);
    if (value == -INF) return false;
    return cost - value <= EXACT * (std::fabs(cost) + std::fabs(value)) + 1e-15 * terms + 1e-26 * largest * largest;
}

/// The exact solution on the pieces that a proximal point indicates.
///
/// Tight rows F satisfy A_F d = r_F. Resting flat features B satisfy (A' lam)_B = slope_B. Curved features inside a piece
/// follow their price. Together  [A_F D A_F'  A_FB; A_FB'  0] (lam_F, d_B) = (r_F - A_F d0, slope_B).
class Pieces {
public:
    Pieces(const Program& program, Numbers lam, Numbers delta, Scratch& scratch)
        : p(program), c(program.curves), m(program.m()), n(program.n), lam(lam), delta(delta), scratch(scratch), frame(scratch),
          new_lam(scratch.numbers(m)), new_delta(scratch.numbers(program.A.columns)), role(scratch.values<Role>(n)),
          rows(scratch.places(m)), columns(scratch.places(m)) {
        std::ranges::fill(new_delta, 0.0);
    }

    /// Returns true if ``lam`` and ``delta`` are now optimal. ``turn`` varies the threshold for tight rows, because a slow
    /// approach leaves more than rounding on rows that are no longer tight.
    bool solve_exactly(int turn) {
        double largest = 0.0, rhs = 0.0;
        for (std::size_t t = 0; t < m; ++t)
            largest = std::max(largest, std::fabs(lam[t])), rhs = std::max(rhs, std::fabs(p.r[t]));
        constexpr double LOOSER[] = {1.0, 1e2, 1e4};
        tight = std::max(1e-9 * LOOSER[turn % 3] * largest, 1e-13 * rhs);  // rows have size 1, so lam has the size of r
        for (std::size_t t = 0; t < m; ++t) new_lam[t] = std::fabs(lam[t]) > tight ? lam[t] : 0.0;
        if (is_optimal(p, new_lam, delta, scratch)) {
            std::ranges::copy(new_lam, lam.begin());
            return true;
        }
        sort_features();
        choose_rows();
        choose_columns();
        if (!solve()) return false;
        correct();
        if (!is_optimal(p, new_lam, new_delta, scratch)) return false;
        std::ranges::copy(new_lam, lam.begin());
        std::ranges::copy(new_delta, delta.begin());
        return true;
    }

private:
    enum class Role : std::int8_t { Fixed, Inside, Resting };  // at a kink or bound; on a curved piece; on a flat piece

    double curve(std::size_t j) const { return delta[j] > 0.0 ? c.curve_up[j] : c.curve_down[j]; }
    double slope(std::size_t j) const { return delta[j] > 0.0 ? c.slope_up[j] : c.slope_down[j]; }
    double clipped(double d, std::size_t j) const { return std::min(std::max(d, c.lower[j]), c.upper[j]); }

    void sort_features() {
        for (std::size_t j = 0; j < n; ++j) {
            const double d = delta[j], slack = 1e-9 * std::fabs(d);
            const bool curved = curve(j) > 0.0;
            const double room = curved ? 0.0 : slack;
            const bool free = d != 0.0 && c.lower[j] + room < d && d < c.upper[j] - room;
            role[j] = !free ? Role::Fixed : curved ? Role::Inside : Role::Resting;
        }
    }

    /// Tight rows in the order of their multipliers, the largest first; a row that depends on earlier ones is skipped.
    void choose_rows() {
        const Scratch::Frame here(scratch);
        const Grid basis = scratch.grid(m, n);
        const std::span<bool> used = scratch.values<bool>(m);
        std::ranges::fill(used, false);
        f = 0;
        while (true) {
            std::size_t best = m;
            for (std::size_t t = 0; t < m; ++t)
                if (!used[t] && (t < p.equal || lam[t] > tight) && (best == m || std::fabs(lam[t]) > std::fabs(lam[best])))
                    best = t;
            if (best == m) break;
            used[best] = true;
            for (std::size_t j = 0; j < n; ++j) basis[f][j] = role[j] != Role::Fixed ? p.A[best][j] : 0.0;
            if (adds(basis, f)) rows[f++] = static_cast<int>(best);
        }
    }

    /// Resting flat features whose value the tight rows determine; the others stay where they are.
    void choose_columns() {
        const Scratch::Frame here(scratch);
        const Grid basis = scratch.grid(f, f);
        b = 0;
        for (std::size_t j = 0; j < n && b < f; ++j) {
            if (role[j] != Role::Resting) continue;
            for (std::size_t a = 0; a < f; ++a) basis[b][a] = p.A[rows[a]][j];
            if (adds(basis, b)) columns[b++] = static_cast<int>(j);
        }
    }

    /// Solve the linear system above; ``correct`` uses its inverse again.
    bool solve() {
        const std::size_t k = f + b;
        const Grid K = scratch.grid(k, k);
        inverse = scratch.grid(k, k);
        const Numbers right = scratch.numbers(k);
        std::fill_n(K.data, k * k, 0.0);
        for (std::size_t a = 0; a < f; ++a) right[a] = p.r[rows[a]];
        for (std::size_t j = 0; j < n; ++j) add_feature(j, K, right);
        for (std::size_t i = 0; i < b; ++i) {
            const int j = columns[i];
            right[f + i] = slope(j);
            for (std::size_t a = 0; a < f; ++a) {
                right[a] += p.A[rows[a]][j] * delta[j];  // an unknown: remove it from the right-hand side
                K[a][f + i] = K[f + i][a] = p.A[rows[a]][j];
            }
        }
        if (!invert(K, k, inverse)) return false;
        const auto row_of = [&](std::size_t i) {
            double total = 0.0;
            for (std::size_t a = 0; a < k; ++a) total += inverse[i][a] * right[a];
            return total;
        };
        std::ranges::fill(new_lam, 0.0);
        for (std::size_t a = 0; a < f; ++a) new_lam[rows[a]] = row_of(a);
        for (std::size_t t = p.equal; t < m; ++t) new_lam[t] = std::max(new_lam[t], 0.0);
        for (std::size_t j = 0; j < n; ++j) {
            double price = 0.0;
            for (std::size_t t = 0; t < m; ++t) price += new_lam[t] * p.A[t][j];
            new_delta[j] = role[j] == Role::Resting ? delta[j] : p.phi(j).respond(price, c.lower[j], c.upper[j]);
        }
        for (std::size_t i = 0; i < b; ++i) new_delta[columns[i]] = clipped(row_of(f + i), columns[i]);
        return true;
    }

    /// Add the contribution of a feature that is not an unknown of the system.
    void add_feature(std::size_t j, const Grid& K, Numbers right) const {
        if (role[j] == Role::Inside) {
            const double by = 2.0 * curve(j), free = slope(j) / by;
            for (std::size_t a = 0; a < f; ++a) {
                const double entry = p.A[rows[a]][j];
                right[a] += entry * free;
                for (std::size_t i = 0; i < f; ++i) K[a][i] += entry * p.A[rows[i]][j] / by;
            }
            return;
        }
        double d = delta[j];
        if (d != 0.0 && curve(j) == 0.0 && role[j] == Role::Fixed)
            d = d > 0.5 * (c.lower[j] + c.upper[j]) ? c.upper[j] : c.lower[j];
        for (std::size_t a = 0; a < f; ++a) right[a] -= p.A[rows[a]][j] * d;
    }

    /// Correct the point directly, because large multipliers cancel in the prices.
    void correct() {
        const Numbers miss = scratch.numbers(f), push = scratch.numbers(f);
        for (int again = 0; again < 2; ++again) {
            for (std::size_t a = 0; a < f; ++a) {
                miss[a] = p.r[rows[a]];
                for (std::size_t j = 0; j < n; ++j) miss[a] -= p.A[rows[a]][j] * new_delta[j];
            }
            for (std::size_t a = 0; a < f; ++a) {
                push[a] = 0.0;
                for (std::size_t i = 0; i < f; ++i) push[a] += inverse[a][i] * miss[i];
            }
            for (std::size_t j = 0; j < n; ++j) {
                if (role[j] != Role::Inside) continue;
                double move = 0.0;
                for (std::size_t a = 0; a < f; ++a) move += p.A[rows[a]][j] * push[a];
                new_delta[j] = clipped(new_delta[j] + move / (2.0 * curve(j)), j);
            }
            for (std::size_t i = 0; i < b; ++i) {
                double move = 0.0;
                for (std::size_t a = 0; a < f; ++a) move += inverse[f + i][a] * miss[a];
                new_delta[columns[i]] = clipped(new_delta[columns[i]] + move, columns[i]);
            }
        }
    }

    const Program& p;
    const Curves& c;
    const std::size_t m, n;
    const Numbers lam, delta;
    Scratch& scratch;
    const Scratch::Frame frame;
    const Numbers new_lam, new_delta;
    const std::span<Role> role;
    const Places rows, columns;  // the unknowns: f tight rows, b resting features
    std::size_t f = 0, b = 0;
    double tight = 0.0;  // rows with a larger multiplier are tight
    Grid inverse;
};

/// phi with c (d - centre)^2 added to its flat features, c = strength times the largest squared entry of the column.
class Pulled {
public:
    Pulled(const Program& program, Scratch& scratch) : program(program), p(program) {
        const auto line = [&] { return scratch.numbers(p.A.columns).data(); };
        Curves& c = this->program.curves;
        c.curve_up = line(), c.slope_up = line(), c.curve_down = line(), c.slope_down = line();
        c.compliance_up = line(), c.compliance_down = line();
    }

    void pull(Constants centre, double strength) const {
        const Curves &from = p.curves, &to = program.curves;
        for (std::size_t j = 0; j < p.A.columns; ++j) {
            const bool flat = from.curve_up[j] == 0.0 || from.curve_down[j] == 0.0;
            double size = 0.0;
            for (std::size_t t = 0; t < p.m() && flat; ++t) size = std::max(size, p.A[t][j] * p.A[t][j]);
            const double extra = strength * size, shift = flat ? 2.0 * extra * centre[j] : 0.0;
            to.curve_up[j] = from.curve_up[j] + extra;
            to.curve_down[j] = from.curve_down[j] + extra;
            to.slope_up[j] = from.slope_up[j] - shift;
            to.slope_down[j] = from.slope_down[j] - shift;
            to.compliance_up[j] = compliance_of(to.curve_up[j]);
            to.compliance_down[j] = compliance_of(to.curve_down[j]);
        }
    }

    Program program;

private:
    const Program& p;
};

}  // namespace

Status proximal(const Program& program, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Pulled pulled(program, scratch);
    const Numbers centre = scratch.numbers(program.A.columns);
    for (std::size_t j = 0; j < centre.size(); ++j)
        centre[j] = std::min(std::max(0.0, program.curves.lower[j]), program.curves.upper[j]);
    double strength = 1.0;
    for (int outer = 0; outer < OUTER && !program.is_stopped(); ++outer) {
        strength = std::max(0.1 * strength, 1e-5);
        pulled.pull(centre, strength);
        if (newton(pulled.program, lam, delta, ray, scratch).status == Status::Infeasible) return Status::Infeasible;
        std::ranges::copy(delta, centre.begin());
        if (Pieces(program, lam, delta, scratch).solve_exactly(outer)) return Status::Converged;
    }
    return Status::Stuck;
}

}  // namespace counterleaf
