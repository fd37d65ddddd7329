// Bounded dual simplex for one region's problem where no feature's cost is curved (pure L1, linear).
//
// phi_j is piecewise linear: slope_down on [lower, k], slope_up on [k, upper], with k the point of the box nearest to 0.
// Row t has a slack, A d - s = r, s >= 0 (s = 0 on the first ``equal`` rows). A feature outside the basis sits at the lower
// bound, at k or at the upper bound; one in the basis lies on its segment below or above k, so its price equals that slope.
// The bases hold few features, so the inverse is made afresh at each pivot: multipliers never drift.
#pragma once

#include "separable/program.hpp"

namespace counterleaf {

enum class Seat : std::int8_t { Lower = -1, Kink = 0, Upper = 1, Basic = 2 };

enum class Segment : std::int8_t { Slack, Down, Up };

/// A variable of the basis: the slack of row ``index``, or the feature ``index`` on one of its segments.
struct Basic {
    int index = 0;
    Segment segment = Segment::Slack;

    bool is_feature() const { return segment != Segment::Slack; }
};

/// Where the simplex starts and ends: one variable per row, one seat per feature.
struct Basis {
    std::span<Basic> basic;
    std::span<Seat> seat;

    /// All slacks, every feature where a price of 0 puts it.
    void reset(const Program& program) const;
};

/// Solve from a basis whose prices respect every unbounded feature, as those of ``Basis::reset`` do.
///
/// Converged: the solution is in ``lam`` and ``delta``. Infeasible: a Farkas vector is in ``ray``. Stuck: the dual value of
/// the last ``lam`` is still a valid lower bound.
Status simplex(const Program& program, Basis basis, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch);

/// Whether there is a point at all, whatever it costs. Infeasible: a Farkas vector is in ``ray``. Else Converged, or Stuck.
Status find_point(const Program& program, Numbers ray, Scratch& scratch);

}  // namespace counterleaf
