// The bound of one region: gather its rows and box into a small scaled problem, solve it, scatter back.
//
// A region is the user's constraints and the splits on a path from the root. A split on one variable narrows the box; any other
// split, and each of the user's rows, is a row  sign (w @ x + b) >= offset. Only variables that some row touches and that can
// still move enter the problem; every other one stays at its own cheapest value. The problem is written in d = x - source, with
// each variable scaled by its cost and each row by its size, so that features in units of 1e-6 and 1e6 look alike.
//
// To solve, a group's 0/1 variables may be fractions that add up to 1 and a grid is an interval. Since z^2 = z, a 0/1 variable
// is charged linearly, which is the tightest convex charge; where the method needs curvature, ``soft`` of it is moved into a
// square. For curved costs groups are in closed form; else, or where that fails, each one that the path touches adds a row.
// To prove, nothing is relaxed: see ``bound.hpp``.
#pragma once

#include "bound/ascent.hpp"
#include "bound/bound.hpp"
#include "separable/program.hpp"
#include "separable/simplex.hpp"

namespace counterleaf {

/// What proves a region's bound, and where its simplex stopped: the warm start, and then the result.
struct Dual {
    Numbers multipliers;     // per row of the path; a Farkas vector if the region is empty
    std::span<Basic> basis;  // flat costs only: per row of the path, then per group; indices are variables and these places
    std::span<Seat> seats;   // flat costs only: per variable
};

class Regions {
public:
    /// Begin with a question. ``rooms`` is the most rows that a path can have.
    void begin(const Question& question, std::size_t max_rows);

    /// Whether every feature on its own stays at its source, at no cost.
    bool is_source_best() const { return source_is_best_; }

    /// w @ source + b of a row.
    ///
    /// 0 where a row of the user's is met there to rounding.
    double at_source(std::size_t row);
    /// The same of every row of a path.
    Constants at_sources(const Path& path, Scratch& scratch);

    /// Bound the region of a path within a box, its rows tightened by ``slack``; ``change`` gets the point of the relaxation.
    ///
    /// The bound is without the class cost, and valid whatever the status.
    Bound solve(const Path& path, const Box& box, Constants slack, const Dual& dual, Numbers change, Scratch& scratch,
                StopCheck& stop_check);

    /// The bound that multipliers prove of a region.
    ///
    /// They shrink by a hair where that takes prices within slopes.
    ProvedBound prove(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch);

    /// Whether multipliers prove a region empty, or two of its rows do, which ``multipliers`` then says.
    bool is_surely_empty(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch);

    /// Better multipliers of a region where the number of changes is limited (see ``ascent.hpp``).
    AscentResult improve(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch);
    /// The bound that multipliers prove of a region, once they are no larger than they need be; ``other`` are some that were
    /// known before.
    ProvedBound shrink(const Path& path, const Box& box, Numbers multipliers, Constants other, Scratch& scratch);

private:
    static constexpr int OUTSIDE = -1, NAMED = -2;

    bool contradicts(const Path& path, const Box& box, Constants ray, Constants norm, Scratch& scratch);
    double snapped(std::size_t row, double value) const;
    Bound attempt(const Path& path, const Box& box, Constants slack, const Dual& dual, Numbers change, bool closed,
                  Scratch& scratch);
    void choose_columns(const Path& path, const Box& box);
    void choose_values(std::size_t i, const Box& box);
    Program make_program(std::size_t paths, bool closed, Scratch& scratch) const;
    void write_groups(const Program& program) const;
    void write_rows(const Path& path, const Box& box, Constants slack, const Program& program);
    void scale_rows(const Program& program, Numbers norm) const;
    void write_costs(const Box& box, const Program& program) const;
    Status pivot(const Dual& dual, const Program& program, Numbers lam, Numbers point, Numbers ray, Scratch& scratch) const;
    std::size_t place_of(std::size_t row, std::size_t group_rows) const;
    int row_at(std::size_t place, std::size_t group_rows) const;
    bool recall(const Dual& dual, std::size_t group_rows, Basis basis) const;
    void remember(const Dual& dual, std::size_t group_rows, Basis basis) const;
    bool is_at_horizon(const Box& box, const Program& program, Constants point) const;
    bool come_nearer(const Box& box, const Program& program, Numbers lam, Numbers point, Numbers ray, Scratch& scratch) const;
    Bound or_box(Bound found, const Box& box, const Dual& dual, Scratch& scratch) const;
    Sum scatter(const Box& box, const Program& program, Constants point, Numbers change) const;
    void scatter_outside(const Box& box, Numbers change) const;
    void open_horizon(const Box& box, const Program& program) const;
    void release();

    const Question* question_ = nullptr;
    StopCheck* stop_check_ = nullptr;  // of the call
    std::size_t max_rows_ = 0;
    bool source_is_best_ = false;
    std::vector<double> at_source_;         // NaN where not yet known
    std::vector<double> noise_;             // what rounding may have done to it
    std::vector<Phi> scaled_;               // phi of each variable in units of its scale
    std::uint64_t scaling_ = 0;             // of which question they are, see Question::scaling
    std::vector<int> slot_;                 // the column of a variable, OUTSIDE, or NAMED for a moment
    std::vector<int> columns_;              // the variable of a column, OUTSIDE for padding
    std::size_t numbers_ = 0;               // columns of numbers, padded where groups follow
    std::vector<int> groups_, group_slot_;  // the groups in the problem; the place of each group there, or OUTSIDE
    std::vector<int> start_;                // where the columns of each begin
};

}  // namespace counterleaf
