// The bound of one region where the cost couples features: as ``region.hpp``, over all features in the elimination order.
#pragma once

#include "bound.hpp"
#include "quadratic/quadratic.hpp"
#include "region.hpp"
#include "watch.hpp"

namespace counterleaf {

/// What proves a region's bound, and where its pivots stopped: the warm start, and then the result.
struct CoupledDual {
    Numbers multipliers, tangent;
    std::span<Piece> pieces;
    Numbers change;
};

/// Bounds that matter to the caller: one that is proved already, and one above which it has better things to do.
struct Levels {
    double known = -INF, cut = INF;
};

class CoupledRegions {
public:
    void begin(const Question& question);

    /// Bound the region of a path within a box, its rows tightened by ``slack``; Cut: the bound exceeds ``levels.cut``.
    ///
    /// ``dual`` proves ``levels.known``: what proves a lower bound does not take its place.
    QuadraticBound solve(const Path& path, const Box& box, Constants slack, const Levels& levels, const CoupledDual& dual,
                         Regions& regions, Scratch& scratch, Watch& watch) const;

private:
    QuadraticProgram gather(const Path& path, const Box& box, Constants slack, Numbers norm, Regions& regions,
                            Scratch& scratch) const;
    void scatter(const Box& box, const QuadraticProgram& program, const QuadraticState& found, const CoupledDual& dual) const;
    bool runs_away(Numbers change, bool unsolved) const;

    const Question* question_ = nullptr;
    std::vector<double> pull_;  // in the elimination order
    std::vector<int> place_;    // of each feature in that order
    bool runs_ = false;         // some feature has a horizon
};

}  // namespace counterleaf
