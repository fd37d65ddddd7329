// Better multipliers where the number of changes is limited.
//
// The solvers ignore this limit, so their multipliers may prove a weak bound. With at most k changes, multipliers prove
//
//     g(lam) = lam @ r + minimum over sums of at most k features of phi_d(d) - price_d d,      price = A' lam,
//
// which is concave in lam, with the slope r - A d at the minimiser d. It is increased by line searches: along each multiplier,
// along all of them by one factor, and along the last step. If g is unbounded, no row obeys the constraints.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// ``empty``: ``lam`` is now a Farkas vector. ``better``: ``lam`` has improved; otherwise it is unchanged.
struct AscentResult {
    bool empty, better;
};

/// Increase the bound that ``lam`` proves for the rows of a box; ``at_source`` as in ``prove_bound``.
AscentResult improve_multipliers(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                                 Scratch& scratch);

/// Choose the features that may change, within the limit: those that gain most at the prices of ``lam``, then those with the
/// largest ``change``.
std::vector<char> most_promising(const Question& question, const Path& path, const Box& box, Constants lam, Constants change);

/// Choose the multipliers that prove most after rounding errors are subtracted: ``lam``, a multiple of it, or the result of an
/// ascent from ``other``.
///
/// Where a region is a single point, ever larger multipliers prove the same bound. A solver may then return very large ones,
/// which add nothing but rounding errors.
void shrink_multipliers(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                        Constants other, Scratch& scratch);

}  // namespace counterleaf
