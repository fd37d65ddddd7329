// One region's problem where the cost couples features, scaled, in an order that keeps the factors of P narrow:
//
//     min  z' P z + sum_j phi_j(z_j)   s.t.   A z >= r  (the first ``equal`` rows: A z = r),   lower <= z <= upper.
//
// Any lam (>= 0 on the inequalities) and any y prove a bound: P - K is positive semidefinite with K = diag(tangent_curve), so
//
//     z' P z >= z' K z + 2 y' (P - K) z - y' (P - K) y,
//
// and the right side has the separable dual of ``newton``.
#pragma once

#include <functional>

#include "linear/compressed.hpp"
#include "question/phi.hpp"

namespace counterleaf {

/// The piece of a feature: at its lower bound, below the kink of phi at 0, at the kink, above it, at its upper bound.
enum class Piece : std::int8_t { Low = -2, Down, Kink, Up, High };

constexpr bool is_free(Piece piece) { return piece == Piece::Up || piece == Piece::Down; }

struct QuadraticProgram {
    CompressedRows rows;  // A, with rows of unit length
    Constants r;
    std::size_t equal;
    CompressedRows P;         // both triangles
    Constants tangent_curve;  // P - diag(tangent_curve) is positive semidefinite
    bool nearly_singular;     // P is singular or nearly so: solvers cannot rely on ``tangent_curve``
    Constants curve_up, slope_up, curve_down, slope_down, lower, upper;
    Constants pull;  // weights of a pull to the source, which chooses among best points of a nearly singular P; else 0
    /// 1 or -1 where the upper or lower bound is only a horizon, which stops a feature whose cost decreases without end; a
    /// proof treats that bound as infinite. Empty if there is none.
    Constants horizon;

    std::size_t m() const { return r.size(); }
    std::size_t n() const { return lower.size(); }
    double curve(std::size_t j, Piece piece) const { return piece == Piece::Up ? curve_up[j] : curve_down[j]; }
    double slope(std::size_t j, Piece piece) const { return piece == Piece::Up ? slope_up[j] : slope_down[j]; }
    Phi phi(std::size_t j) const { return {curve_up[j], slope_up[j], curve_down[j], slope_down[j]}; }
    double true_lower(std::size_t j) const { return !horizon.empty() && horizon[j] < 0.0 ? -INF : lower[j]; }
    double true_upper(std::size_t j) const { return !horizon.empty() && horizon[j] > 0.0 ? INF : upper[j]; }
    bool can_move(std::size_t j) const { return lower[j] < upper[j]; }
};

enum class QuadraticStatus { Converged, Infeasible, Stuck, AboveLimit };

struct QuadraticBound {
    QuadraticStatus status;
    double value;
    bool sure = true;  // false if the proof rests on a price that is 0 only up to rounding
};

/// Whether the caller wants to stop; it is cheap and called once per step.
using Stop = std::function<bool()>;

/// The warm start of a solver, then its result.
struct QuadraticState {
    std::span<Piece> piece;
    Numbers lam, z;
};

/// Multipliers and the point of a tangent, which together prove a bound.
struct QuadraticProof {
    Numbers lam, y;
};

/// P y, and the sizes of its terms.
struct Product {
    Numbers value, size;
};

void multiply(const CompressedRows& P, Constants y, const Product& out);

/// The bound that a proof gives, with rounding errors subtracted; negative multipliers of inequalities are set to 0. Sums are
/// in twice the working precision, so that cancelling terms of a tangent leave more than rounding.
double prove(const QuadraticProgram& program, const QuadraticProof& proof, Scratch& scratch);
/// The same for a known P y, faster and with fewer digits.
///
/// Minus infinity if rounding may exceed a share of the bound, for example if y is far out in a direction without cost.
double prove(const QuadraticProgram& program, const QuadraticProof& proof, const Product& Py, Scratch& scratch);

/// z' P z + sum_j phi_j(z_j), and the size of its terms.
Sum cost_and_size(const QuadraticProgram& program, Constants z);
double cost_of(const QuadraticProgram& program, Constants z);

/// A z - r of row t, and the size of its terms.
inline Sum miss(const QuadraticProgram& program, std::size_t t, Constants z) {
    const auto [total, size] = program.rows.dot(t, z);
    return {total - program.r[t], size + std::fabs(program.r[t])};
}

}  // namespace counterleaf
