#include "quadratic/solve.hpp"

#include <utility>

#include "quadratic/balance.hpp"
#include "quadratic/interior.hpp"
#include "separable/simplex.hpp"

namespace counterleaf {
namespace {

constexpr int ROUNDS = 6;          // of the pull to the last point; after them it no longer biases the result
constexpr double FAR = 1e6;        // in units of the cost: a feature that moved further without reaching a bound runs away
constexpr double SOLVED = 3e-8;    // a point within this share of its bound is optimal if no solver finds a better one
constexpr double EXACT = 1e-14;    // a point within this share needs no further round,
constexpr double CLOSE = 1e-11;    // nor does one within this share that stays where it is
constexpr double PROVED = 1e-10;   // a point within this share of its bound needs no other solver,
constexpr double CANCELS = 1e-12;  // nor does one within this share of the terms of its cost
constexpr double RAISED = 20.0;    // multiple of ``tangent_curve`` that exceeds what was added to the diagonal of a singular P
constexpr double HOLDS = 1e-9;     // relative to its terms: a row that misses by less holds
constexpr double SMALL = 1e-3;     // smaller bounds are judged as if they had this size

class Solve {
public:
    Solve(const QuadraticProgram& program, double limit, const QuadraticState& state, const QuadraticProof& proof,
          Scratch& scratch, const Stop& stop)
        : p(program), limit(limit), state(state), proof(proof), scratch(scratch), stop(stop), frame(scratch),
          tried{scratch.numbers(p.m()), scratch.numbers(p.n())},
          settled{scratch.values<Piece>(p.n()), scratch.numbers(p.m()), scratch.numbers(p.n())},
          centre(scratch.numbers(p.n())) {
        std::ranges::fill(proof.lam, 0.0);
        std::ranges::fill(proof.y, 0.0);
        if (p.nearly_singular) best = prove(p, proof, scratch);  // each feature alone: the best bound if costs are flat
    }

    QuadraticBound run(bool runs) {
        const QuadraticBound found = solve(runs);
        return {.status = found.status, .value = std::max(found.value, best)};
    }

private:
    QuadraticBound solve(bool runs) {
        QuadraticStatus status = pivot_to_end();
        if (status != QuadraticStatus::Stuck || stop()) return {status, best};
        if (is_empty()) return {QuadraticStatus::Infeasible, INF};
        const QuadraticState found{scratch.values<Piece>(p.n()), scratch.numbers(p.m()), scratch.numbers(p.n())};
        if (!find_interior(p, found, scratch, stop)) return {QuadraticStatus::Stuck, best};
        const Numbers reached = scratch.numbers(p.n());
        std::ranges::copy(state.z, reached.begin());
        copy(found, state);
        status = pivot_to_end();
        if (status != QuadraticStatus::Stuck) return {status, best};
        if (runs && std::ranges::any_of(reached, [](double z) { return std::fabs(z) > FAR; })) {
            std::ranges::copy(reached, state.z.begin());  // only the pull stops it, and another solver would not
            return {QuadraticStatus::Stuck, best};
        }
        copy(found, state);
        clamp();
        try_point();
        try_balanced();
        if (!is_proved()) polish();
        if (!is_proved()) try_balanced();
        return {meets() && holds() ? QuadraticStatus::Converged : QuadraticStatus::Stuck, best};
    }

    /// Pivot. If P is singular, repeat with a pull to the last point until the point meets its bound.
    QuadraticStatus pivot_to_end() {
        std::ranges::fill(centre, 0.0);
        double last = INF;
        for (int round = 0; round < (p.nearly_singular ? ROUNDS : 1); ++round) {
            const QuadraticBound found = pivot(p, centre, limit, state, tried, scratch, stop);
            const QuadraticStatus status = found.status;
            keep(found.value);
            if (status == QuadraticStatus::Converged) try_point();
            if (status == QuadraticStatus::Stuck && round > 0 && !stop()) {
                copy(settled, state);
                break;
            }
            if (status != QuadraticStatus::Converged || !p.nearly_singular || is_at_horizon()) return status;
            const double before = std::exchange(last, gap());
            if (last <= EXACT || (last <= CLOSE && last > 0.5 * before)) return status;
            copy(state, settled);
            std::ranges::copy(state.z, centre.begin());
        }
        if (!(last <= CLOSE)) try_balanced();
        return is_proved() ? QuadraticStatus::Converged : QuadraticStatus::Stuck;
    }

    /// Solve repeatedly on the pieces of the interior point, with a pull to the last point, while that helps.
    void polish() {
        const QuadraticState last{scratch.values<Piece>(p.n()), scratch.numbers(p.m()), scratch.numbers(p.n())};
        for (int round = 0; round < ROUNDS && !stop(); ++round) {
            copy(state, last);
            const double before = gap();
            std::ranges::copy(state.z, centre.begin());
            const bool solved = solve_on_pieces(p, centre, state, scratch);
            clamp();
            if (solved) try_point();
            if (!solved || !holds() || !(gap() < before)) {
                copy(last, state);
                return;
            }
        }
    }

    void clamp() {
        for (std::size_t j = 0; j < p.n(); ++j) state.z[j] = std::min(std::max(state.z[j], p.lower[j]), p.upper[j]);
    }

    /// Prove a bound by the multipliers and the tangent at the point.
    void try_point() {
        std::ranges::copy(state.lam, tried.lam.begin());
        std::ranges::copy(state.z, tried.y.begin());
        keep(prove(p, tried, scratch));
    }

    void try_balanced() {
        balance(p, state, tried, scratch, stop);
        keep(prove(p, tried, scratch));
    }

    /// Keep the proof ``tried`` if it is better.
    void keep(double value) {
        if (!(value > best)) return;
        best = value;
        std::ranges::copy(tried.lam, proof.lam.begin());
        std::ranges::copy(tried.y, proof.y.begin());
    }

    /// The cost of the point above the proved bound, as a share; NaN or infinite without a bound.
    double gap(double least = 1.0) const { return (cost_of(p, state.z) - best) / (least + std::fabs(best)); }

    /// Whether the cost is unbounded: only a horizon stops a feature.
    bool is_at_horizon() const {
        for (std::size_t j = 0; j < p.horizon.size(); ++j)
            if (p.horizon[j] != 0.0 && state.z[j] == (p.horizon[j] > 0.0 ? p.upper[j] : p.lower[j])) return true;
        return false;
    }

    /// Whether the point costs what is proved, up to rounding.
    bool is_proved() const {
        const auto [cost, size] = cost_and_size(p, state.z);
        return best > -INF && cost - best <= PROVED * std::fabs(best) + CANCELS * size;
    }

    /// Whether the point is practically optimal: within a share of its bound, or within the cost of a raised diagonal.
    bool meets() const {
        if (is_proved() || gap(SMALL) <= SOLVED) return true;
        double raised = 0.0;
        for (std::size_t j = 0; j < p.n(); ++j) raised += RAISED * p.tangent_curve[j] * state.z[j] * state.z[j];
        return p.nearly_singular && best > -INF && cost_of(p, state.z) - best <= raised;
    }

    /// Whether the rows hold at the point; rows much smaller than the largest are judged by the largest.
    bool holds() const {
        double most = 0.0;
        for (std::size_t t = 0; t < p.m(); ++t) most = std::max(most, miss(p, t, state.z).size);
        for (std::size_t t = 0; t < p.m(); ++t) {
            const auto [off, terms] = miss(p, t, state.z);
            const double noise = HOLDS * std::max(terms, 1e-2 * most);
            if (off < -noise || (t < p.equal && off > noise)) return false;
        }
        return true;
    }

    static void copy(const QuadraticState& from, const QuadraticState& to) {
        std::ranges::copy(from.piece, to.piece.begin());
        std::ranges::copy(from.lam, to.lam.begin());
        std::ranges::copy(from.z, to.z.begin());
    }

    /// Whether no point of the box satisfies the rows; ``state.lam`` is then a Farkas vector.
    bool is_empty() {
        const Scratch::Frame here(scratch);
        const std::size_t m = p.m(), n = p.n(), wide = padded(n);
        const Numbers zero = scratch.numbers(wide), lower = scratch.numbers(wide), upper = scratch.numbers(wide);
        std::ranges::fill(zero, 0.0);
        std::ranges::fill(lower, 0.0);
        std::ranges::fill(upper, 0.0);
        std::ranges::copy(p.lower, lower.begin());
        std::ranges::copy(p.upper, upper.begin());
        double* none = zero.data();
        const Program program{.A = scratch.grid(m, wide),
                              .r = scratch.numbers(m),
                              .n = n,
                              .numbers = wide,
                              .equal = p.equal,
                              .curves = {none, none, none, none, lower.data(), upper.data(), none, none},
                              .groups = {}};
        std::fill_n(program.A.data, m * wide, 0.0);
        std::ranges::copy(p.r, program.r.begin());
        for (std::size_t t = 0; t < m; ++t) {
            const auto [columns, values] = p.rows[t];
            for (std::size_t k = 0; k < columns.size(); ++k) program.A[t][columns[k]] = values[k];
        }
        const Numbers ray = scratch.numbers(m);
        if (find_point(program, ray, scratch) != Status::Infeasible) return false;
        std::ranges::copy(ray, state.lam.begin());
        return true;
    }

    const QuadraticProgram& p;
    const double limit;
    const QuadraticState state;
    const QuadraticProof proof;
    Scratch& scratch;
    const Stop& stop;
    const Scratch::Frame frame;
    const QuadraticProof tried;
    const QuadraticState settled;  // the end of the last round that converged
    const Numbers centre;
    double best = -INF;  // the bound that ``proof`` proves
};

}  // namespace

QuadraticBound solve_quadratic(const QuadraticProgram& program, double limit, bool runs, const QuadraticState& state,
                               const QuadraticProof& proof, Scratch& scratch, const Stop& stop) {
    return Solve(program, limit, state, proof, scratch, stop).run(runs);
}

}  // namespace counterleaf
