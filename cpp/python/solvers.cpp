// For tests only: the solvers of one region, on a problem passed as dense arrays.
#include <nanobind/stl/tuple.h>

#include "python/binding.hpp"
#include "quadratic/interior.hpp"
#include "quadratic/solve.hpp"
#include "separable/newton.hpp"
#include "separable/proximal.hpp"
#include "separable/simplex.hpp"

using namespace nanobind::literals;

namespace counterleaf {
namespace {

/// A dense problem with its memory.
struct Trial {
    Scratch scratch;
    Program program{};

    Trial(const Table<double>& A, const Line<double>& r, std::size_t equal, const Table<double>& curves) {
        const std::size_t m = A.shape(0), n = A.shape(1), wide = padded(n);
        expect(r.size() == m && equal <= m && n > 0, "the rows differ in length");
        expect(curves.shape(0) == COSTS_AND_BOUNDS && curves.shape(1) == n,
               "there must be six lines: two curves and slopes, lower, upper");
        const auto line = [&](std::size_t k, double padding) {
            const Numbers out = scratch.numbers(wide);
            std::ranges::fill(out, padding);
            std::ranges::copy(row_of(curves, k), out.begin());
            return out.data();
        };
        Curves& c = program.curves;
        c = {line(CURVE_UP, 1.0),
             line(SLOPE_UP, 0.0),
             line(CURVE_DOWN, 1.0),
             line(SLOPE_DOWN, 0.0),
             line(LOWER, 0.0),
             line(UPPER, 0.0),
             nullptr,
             nullptr};
        c.compliance_up = scratch.numbers(wide).data(), c.compliance_down = scratch.numbers(wide).data();
        for (std::size_t j = 0; j < wide; ++j)
            c.compliance_up[j] = compliance_of(c.curve_up[j]), c.compliance_down[j] = compliance_of(c.curve_down[j]);
        program.A = scratch.grid(m, wide);
        program.r = scratch.numbers(m);
        program.n = n, program.numbers = wide, program.equal = equal;
        std::fill_n(program.A.data, m * wide, 0.0);
        for (std::size_t t = 0; t < m; ++t) std::ranges::copy(row_of(A, t), program.A[t]);
        std::ranges::copy(span_of(r), program.r.begin());
    }
};

using Solved = std::tuple<int, double, Made<double, 1>, Made<double, 1>, Made<double, 1>>;

/// (status, dual value, multipliers, point, Farkas vector), starting without multipliers.
template <class Solve>
Solved solved(const Table<double>& A, const Line<double>& r, std::size_t equal, const Table<double>& curves, Solve solve) {
    Trial trial(A, r, equal, curves);
    const std::size_t m = trial.program.m(), wide = trial.program.A.columns;
    const Numbers lam = trial.scratch.numbers(m), delta = trial.scratch.numbers(wide), ray = trial.scratch.numbers(m);
    std::ranges::fill(lam, 0.0);
    std::ranges::fill(delta, 0.0);
    std::ranges::fill(ray, 0.0);
    const Status status = solve(trial.program, lam, delta, ray, trial.scratch);
    Array<double, 1> multipliers({m}), point({trial.program.n}), farkas({m});
    for (std::size_t t = 0; t < m; ++t) multipliers[t] = lam[t], farkas[t] = ray[t];
    for (std::size_t j = 0; j < trial.program.n; ++j) point[j] = delta[j];
    const double value = status == Status::Infeasible ? INF : dual_value(trial.program, lam, trial.scratch);
    return {static_cast<int>(status), value, multipliers.hand_over(), point.hand_over(), farkas.hand_over()};
}

/// A dense matrix by compressed rows.
struct DenseRows {
    std::vector<int> start{0}, column;
    std::vector<double> value;

    explicit DenseRows(const Table<double>& matrix) {
        for (std::size_t i = 0; i < matrix.shape(0); ++i) {
            for (std::size_t j = 0; j < matrix.shape(1); ++j)
                if (matrix(i, j) != 0.0) column.push_back(static_cast<int>(j)), value.push_back(matrix(i, j));
            start.push_back(static_cast<int>(column.size()));
        }
    }
    CompressedRows rows() const { return {start, column, value}; }
};

/// (status, bound, multipliers, point) of a coupled problem, by the complete solver or by the interior point method alone,
/// which does not prove a bound.
std::tuple<int, double, Made<double, 1>, Made<double, 1>> coupled(const Table<double>& A, const Line<double>& r,
                                                                  std::size_t equal, const Table<double>& curves,
                                                                  const Table<double>& P, double theta, bool by_interior) {
    const std::size_t m = A.shape(0), n = A.shape(1);
    expect(r.size() == m && equal <= m && curves.shape(0) == COSTS_AND_BOUNDS && curves.shape(1) == n && P.shape(0) == n &&
               P.shape(1) == n,
           "the arrays do not fit together");
    const DenseRows rows(A), matrix(P);
    const std::vector<double> pull(n, theta > 0.0 ? 0.0 : 1e-7), separable(n, theta);
    const auto line = [&](std::size_t k) { return row_of(curves, k); };
    const QuadraticProgram program{rows.rows(),
                                   span_of(r),
                                   equal,
                                   matrix.rows(),
                                   separable,
                                   theta == 0.0,
                                   line(CURVE_UP),
                                   line(SLOPE_UP),
                                   line(CURVE_DOWN),
                                   line(SLOPE_DOWN),
                                   line(LOWER),
                                   line(UPPER),
                                   pull,
                                   {}};
    Scratch scratch;
    const QuadraticState state{scratch.values<Piece>(n), scratch.numbers(m), scratch.numbers(n)};
    const QuadraticProof proof{scratch.numbers(m), scratch.numbers(n)};
    std::ranges::fill(state.piece, Piece::Up);
    std::ranges::fill(state.lam, 0.0);
    std::ranges::fill(state.z, 0.0);
    const Stop never = [] { return false; };
    QuadraticBound found{QuadraticStatus::Stuck, -INF};
    if (!by_interior)
        found = solve_quadratic(program, INF, false, state, proof, scratch, never);
    else if (find_interior(program, state, scratch, never))
        found.status = QuadraticStatus::Converged;
    Array<double, 1> multipliers({m}), point({n});
    for (std::size_t t = 0; t < m; ++t) multipliers[t] = state.lam[t];
    for (std::size_t j = 0; j < n; ++j) point[j] = state.z[j];
    return {static_cast<int>(found.status), found.value, multipliers.hand_over(), point.hand_over()};
}

}  // namespace

void bind_trials(nb::module_& m) {
    using Rows = Table<double>;
    nb::module_ made = m.def_submodule("testing", "For tests alone: the solvers of one region.");
    made.def(
        "newton",
        [](Rows A, Line<double> r, std::size_t equal, Rows curves) {
            return solved(A, r, equal, curves, [](const Program& p, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch) {
                return newton(p, lam, delta, ray, scratch).status;
            });
        },
        "A"_a, "r"_a, "equal"_a, "curves"_a);
    made.def(
        "proximal",
        [](Rows A, Line<double> r, std::size_t equal, Rows curves) { return solved(A, r, equal, curves, proximal); }, "A"_a,
        "r"_a, "equal"_a, "curves"_a);
    made.def(
        "simplex",
        [](Rows A, Line<double> r, std::size_t equal, Rows curves) {
            return solved(A, r, equal, curves, [](const Program& p, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch) {
                const Basis basis{scratch.values<Basic>(p.m()), scratch.values<Seat>(p.n)};
                basis.reset(p);
                return simplex(p, basis, lam, delta, ray, scratch);
            });
        },
        "A"_a, "r"_a, "equal"_a, "curves"_a);
    made.def("coupled", &coupled, "A"_a, "r"_a, "equal"_a, "curves"_a, "P"_a, "theta"_a, "by_interior"_a);
    made.def(
        "farkas_gap",
        [](Rows A, Line<double> r, std::size_t equal, Rows curves, Line<double> ray) {
            Trial trial(A, r, equal, curves);
            expect(ray.size() == trial.program.m(), "the vector does not fit the rows");
            const Numbers copy = trial.scratch.numbers(ray.size());
            std::ranges::copy(span_of(ray), copy.begin());
            return farkas_gap(trial.program, copy);
        },
        "A"_a, "r"_a, "equal"_a, "curves"_a, "ray"_a);
}

}  // namespace counterleaf
