// One region's problem with a separable cost, scaled, over the n features of its m rows:
//
//     min sum_j phi_j(d_j)   s.t.   A d >= r  (the first ``equal`` rows: A d = r),   lower <= d <= upper.
//
// On a table, one-hot groups may follow the numbers: the columns start[g] .. start[g + 1] are y_k = s z_k with z in the unit
// simplex, at the cost slope_k y_k + y_k^2 / 2, and d_k = y_k - s home_k.
#pragma once

#include "base/rounding.hpp"
#include "base/scratch.hpp"
#include "base/stopping.hpp"
#include "loops/loops.hpp"
#include "question/phi.hpp"

namespace counterleaf {

enum class Status { Converged, Infeasible, Stuck };

struct Bound {
    Status status;
    double value;
    bool sure = true;    // false if the bound holds only up to the rounding of a price
    bool rough = false;  // the point is not exactly the response to the prices of the multipliers
};

struct Groups {
    std::span<const int> start;  // one more than groups; empty without groups
    Constants scale;             // s of each group
    Constants home;              // per column: z of the source

    std::size_t size() const { return start.empty() ? 0 : start.size() - 1; }
};

struct Program {
    Grid A;  // (m, padded n)
    Numbers r;
    std::size_t n;        // columns in use, including padding among them (features that cannot move)
    std::size_t numbers;  // padded number of columns before those of groups
    std::size_t equal;
    Curves curves;
    Groups groups;
    Numbers tolerance = {};  // by how much the user's rows may be missed; empty: by nothing
    Numbers noise = {};      // the rounding error of r; empty: none

    bool forgiving = true;            // accept a Farkas vector whose sum is not exactly 0 where it must be
    StopCheck* stop_check = nullptr;  // null: never stop

    bool is_stopped() const { return stop_check != nullptr && stop_check->is_due(); }
    std::size_t m() const { return A.rows; }
    /// The number of columns in use before those of groups.
    std::size_t ungrouped() const { return std::min(n, numbers); }
    Phi phi(std::size_t j) const {
        return {curves.curve_up[j], curves.slope_up[j], curves.curve_down[j], curves.slope_down[j]};
    }
};

inline constexpr double SMALL = 1e-2;      // relative to the largest row: a row with smaller terms is judged by this size
inline constexpr double ROUNDING = 1e-12;  // below this share of its terms a sum of a few rows counts as zero

/// How far a feature moves per unit of price: one over its second derivative, or a huge number if that is 0.
inline double compliance_of(double curve) { return curve > 0.0 ? 0.5 / curve : 1e300; }

/// The largest violation of a row, relative to its terms; rows much smaller than the largest are judged by the largest.
double violation(const Program& program, Constants delta);

/// How clearly ``ray`` proves that the rows are infeasible: ray @ r - max over the box of (A' ray) @ d, relative to its terms.
///
/// If positive, no d in the box satisfies the rows. Negative or negligible multipliers of inequalities are set to 0.
double farkas_gap(const Program& program, Numbers ray);

/// The bound that ``lam`` proves, for a problem without groups; ``lam`` is scaled slightly where prices would exceed their
/// slopes.
ProvedBound proved_value(const Program& program, Numbers lam, Scratch& scratch);

/// The dual value of ``lam`` (see ``newton.hpp``); minus infinity only if a price exceeds its slopes by more than rounding.
double dual_value(const Program& program, Constants lam, Scratch& scratch);

}  // namespace counterleaf
