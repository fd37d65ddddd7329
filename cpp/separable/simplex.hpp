// Bounded dual simplex method for one region's problem where no cost is curved (L1, linear).
//
// phi_j is piecewise linear: slope_down on [lower, k], slope_up on [k, upper], with k the point of the box nearest to 0. Row t
// has a slack, A d - s = r, s >= 0 (s = 0 on the first ``equal`` rows). A nonbasic feature is at its lower bound, at k or at
// its upper bound. A basic feature lies on its segment below or above k, so its price equals that slope. Bases contain few
// features, so every pivot computes a new inverse, and multipliers do not drift.
#pragma once

#include "separable/program.hpp"

namespace counterleaf {

enum class Seat : std::int8_t { Lower = -1, Kink = 0, Upper = 1, Basic = 2 };

enum class Segment : std::int8_t { Slack, Down, Up };

/// A variable of the basis: the slack of row ``index``, or feature ``index`` on one of its segments.
struct Basic {
    int index = 0;
    Segment segment = Segment::Slack;

    bool is_feature() const { return segment != Segment::Slack; }
};

/// Where the simplex method starts and ends: one basic variable per row, one seat per feature.
struct Basis {
    std::span<Basic> basic;
    std::span<Seat> seat;

    /// All slacks are basic, and every feature is where a price of 0 puts it.
    void reset(const Program& program) const;
};

/// Solve from a basis whose prices respect every unbounded feature, such as that of ``Basis::reset``.
///
/// Converged: the solution is in ``lam`` and ``delta``. Infeasible: ``ray`` is a Farkas vector. Stuck: the dual value of the
/// last ``lam`` is still a valid lower bound.
Status simplex(const Program& program, Basis basis, Numbers lam, Numbers delta, Numbers ray, Scratch& scratch);

/// Whether any point satisfies the rows, at any cost. Infeasible: ``ray`` is a Farkas vector. Otherwise Converged or Stuck.
Status find_point(const Program& program, Numbers ray, Scratch& scratch);

}  // namespace counterleaf
