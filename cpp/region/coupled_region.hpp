// The bound of one region where the cost couples features: as ``region.hpp``, over all variables in the elimination order.
//
// For solving, a group in some row of the path is relaxed to a simplex with a row for its sum and part of its charge as a
// square (z^2 = z), and a grid is relaxed to an interval; every other group stays at its cheapest value. For proving, nothing
// is relaxed: see ``tangent.hpp``.
#pragma once

#include "base/stopping.hpp"
#include "bound/bound.hpp"
#include "quadratic/solve.hpp"
#include "region/region.hpp"

namespace counterleaf {

/// The proof of a region's bound, and where its pivots stopped: first the warm start, then the result.
struct CoupledDual {
    Numbers multipliers, tangent;
    std::span<Piece> pieces;
    Numbers change;
};

/// A bound that is already proved, and one above which the caller prefers to continue elsewhere.
struct Levels {
    double known = -INF, limit = INF;
};

class CoupledRegions {
public:
    void begin(const Question& question);

    /// Bound the region of a path within a box, with its rows tightened by ``slack``. AboveLimit: the bound exceeds
    /// ``levels.limit``.
    ///
    /// ``dual`` proves ``levels.known``, and only a proof of a better bound replaces it.
    QuadraticBound solve(const Path& path, const Box& box, Constants slack, const Levels& levels, const CoupledDual& dual,
                         Regions& regions, Scratch& scratch, StopCheck& stop_check) const;

    /// The bound that multipliers and a tangent prove for a region.
    ProvedBound prove(const Path& path, const Box& box, Numbers lam, Constants tangent, Regions& regions,
                      Scratch& scratch) const;

private:
    /// The rows of a program, first one per group and then those of the path, and the lengths by which they are divided.
    struct Layered {
        Places group_rows;
        Numbers norm;
    };
    /// phi, the box and the horizon of every variable, in the elimination order.
    struct Columns {
        Numbers curve_up, slope_up, curve_down, slope_down, lower, upper, horizon;
    };
    Layered choose_groups(const Path& path, const Box& box, Scratch& scratch) const;
    QuadraticProgram write_program(const Path& path, const Box& box, Constants slack, const Layered& rows, Regions& regions,
                                   Scratch& scratch) const;
    std::size_t write_group_rows(const Layered& rows, Places start, Places column, Numbers value, Numbers r) const;
    Columns write_columns(const Box& box, Places group_rows, Scratch& scratch) const;
    double missing(const Path& path, const Box& box, std::size_t t, double slack, Regions& regions) const;
    void scatter(const Box& box, const QuadraticProgram& program, const QuadraticState& found, const CoupledDual& dual) const;
    bool runs_away(Numbers change, bool unsolved) const;

    const Question* question_ = nullptr;
    std::vector<double> scale_;          // of each variable: a power of two, so that scaling keeps a proof exact
    std::vector<double> pull_;           // in the elimination order
    std::vector<double> tangent_curve_;  // in the elimination order
    std::vector<int> place_;             // the position of each variable in that order
    bool runs_ = false;                  // some feature has a horizon
};

}  // namespace counterleaf
