// Better multipliers where the number of changes is limited.
//
// The solvers do not know the count, so their multipliers may prove little. What multipliers prove with the count,
//
//     g(lam) = lam @ r + least sum over at most k features of phi_d(d) - price_d d,      price = A' lam,
//
// is concave in lam, with the slope r - A d at the minimiser d. It is raised by searches along lines: each row's own
// multiplier, all of them by one factor, and the last step once more. Where g grows without end, no row obeys all of it.
#pragma once

#include "bound/bound.hpp"

namespace counterleaf {

/// What ``improve_multipliers`` found: ``empty``, and ``lam`` is a Farkas vector; or better multipliers, or those it was given.
struct AscentResult {
    bool empty, better;
};

/// Raise the bound that ``lam`` proves of a box's rows; ``at_source`` as in ``prove_bound``.
AscentResult improve_multipliers(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                                 Scratch& scratch);

/// Which features may change, no more than may: those that gain most by the prices of ``lam``, then those that ``change`` most.
std::vector<char> most_promising(const Question& question, const Path& path, const Box& box, Constants lam, Constants change);

/// Multipliers that prove most, rounding taken off: ``lam``, a share of it, or what is found on the way up from ``other``.
///
/// Where a region is a single point, ever larger multipliers prove the same, and a solver may end with very large ones: all
/// that they add is rounding.
void shrink_multipliers(const Question& question, const Path& path, const Box& box, Constants at_source, Numbers lam,
                        Constants other, Scratch& scratch);

}  // namespace counterleaf
