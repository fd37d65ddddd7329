// One region's problem, scaled, over the n features that its m rows touch:
//
//     min sum_j phi_j(d_j)   s.t.   A d >= r  (the first ``equal`` rows: A d = r),   lower <= d <= upper.
//
// On a table, one-hot groups may follow behind the numbers: the columns start[g] .. start[g + 1] are y_k = s z_k with z in the
// unit simplex, charged slope_k y_k + y_k^2 / 2, and d_k = y_k - s home_k.
#pragma once

#include "base/scratch.hpp"
#include "base/stopping.hpp"
#include "bound/multiplier_scale.hpp"
#include "loops/loops.hpp"
#include "question/phi.hpp"

namespace counterleaf {

enum class Status { Converged, Infeasible, Stuck };

struct Bound {
    Status status;
    double value;
    bool sure = true;    // false: but for what rounding does to a price
    bool rough = false;  // the point is not quite what answers the multipliers' prices
};

struct Groups {
    std::span<const int> start;  // one more than there are groups; empty without any
    Constants scale;             // s of each group
    Constants home;              // per column: z in the source

    std::size_t size() const { return start.empty() ? 0 : start.size() - 1; }
};

struct Program {
    Grid A;  // (m, padded n)
    Numbers r;
    std::size_t n;        // columns in use; among them may be padding, features that cannot move
    std::size_t numbers;  // padded columns that are not those of groups
    std::size_t equal;
    Curves curves;
    Groups groups;
    Numbers tolerance = {};  // by how much rows of the user's may be missed; empty: by nothing
    Numbers noise = {};      // what rounding may have done to r; empty: nothing

    bool forgiving = true;            // to a sum of a Farkas vector that is not quite 0 where it has to be
    StopCheck* stop_check = nullptr;  // says when to stop, if anybody does

    bool is_stopped() const { return stop_check != nullptr && stop_check->is_due(); }
    std::size_t m() const { return A.rows; }
    /// The columns in use that are not those of groups.
    std::size_t ungrouped() const { return std::min(n, numbers); }
    Phi phi(std::size_t j) const {
        return {curves.curve_up[j], curves.slope_up[j], curves.curve_down[j], curves.slope_down[j]};
    }
};

inline constexpr double SMALL = 1e-2;      // of the largest row's terms: a row whose own terms are smaller is judged by these
inline constexpr double ROUNDING = 1e-12;  // below this share of its terms a sum of a few rows counts as zero

/// How far a feature moves per unit of price: one over its second derivative; very far where there is none.
inline double compliance_of(double curve) { return curve > 0.0 ? 0.5 / curve : 1e300; }

/// The largest miss of a row, as a share of its terms; rows much smaller than the largest are judged by that.
double violation(const Program& program, Constants delta);

/// How far ``ray`` proves the rows empty: ray @ r - max over the box of (A' ray) @ d, over the size of its terms.
///
/// Positive: no d in the box satisfies the rows. Rows with a negative or negligible multiplier count as absent and are set
/// to 0.
double farkas_gap(const Program& program, Numbers ray);

/// The bound that ``lam`` proves for any phi without groups; ``lam`` shrinks by a hair where prices would leave their slopes.
ProvedBound proved_value(const Program& program, Numbers lam, Scratch& scratch);

/// The dual value of ``lam`` for any phi (see ``newton.hpp``); minus infinity only where a price truly leaves its slopes.
double dual_value(const Program& program, Constants lam, Scratch& scratch);

}  // namespace counterleaf
