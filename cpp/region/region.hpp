// The bound of one region: write its rows and box as a small scaled problem, solve it, and write the result back.
//
// A region consists of the user's constraints and the splits on a path from the root. A split on one variable narrows the box.
// Every other split and each of the user's rows is a row  sign (w @ x + b) >= offset. The problem contains only the variables
// that appear in a row and can still move; every other variable takes its cheapest value. It is written in d = x - source, with
// each variable scaled by its cost and each row by its size, so that units of 1e-6 and 1e6 make no difference.
//
// For solving, the 0/1 variables of a group are relaxed to fractions with the sum 1, and a grid to an interval. Since z^2 = z,
// a 0/1 variable is charged linearly, which is the tightest convex charge; where the method needs curvature, ``soft`` of it
// becomes a square. For curved costs, groups are handled in closed form. Otherwise, or where that fails, each group of the path
// adds a row. For proving, nothing is relaxed: see ``bound.hpp``.
#pragma once

#include "bound/ascent.hpp"
#include "bound/bound.hpp"
#include "separable/program.hpp"
#include "separable/simplex.hpp"

namespace counterleaf {

/// The proof of a region's bound, and where its simplex stopped: first the warm start, then the result.
struct Dual {
    Numbers multipliers;     // per row of the path; a Farkas vector if the region is empty
    std::span<Basic> basis;  // flat costs only: one place per row of the path, then one per group; a slack's index is such a
                             // place, a feature's its variable
    std::span<Seat> seats;   // flat costs only: per variable
};

class Regions {
public:
    /// Begin with a question; ``max_rows`` is the largest number of rows of a path.
    void begin(const Question& question, std::size_t max_rows);

    /// Whether every feature by itself is best at its source, at no cost.
    bool is_source_best() const { return source_is_best_; }

    /// w @ source + b of a row; 0 where a user's row is met up to rounding.
    double at_source(std::size_t row);
    /// The same for every row of a path.
    Constants at_sources(const Path& path, Scratch& scratch);

    /// Bound the region of a path within a box, with its rows tightened by ``slack``; ``change`` receives the point of the
    /// relaxation.
    ///
    /// The bound does not include the class cost. It is valid for every status.
    Bound solve(const Path& path, const Box& box, Constants slack, const Dual& dual, Numbers change, Scratch& scratch,
                StopCheck& stop_check);

    /// Whether ``solve`` spreads the charge of a number over its changes, or leaves it out.
    void spread_charges(bool spread) { spreads_charges_ = spread; }

    /// The bound that multipliers prove for a region; they are scaled slightly where prices would exceed their slopes.
    ProvedBound prove(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch);

    /// Whether multipliers prove a region empty, or two opposite rows do; ``multipliers`` then holds the proof.
    bool is_surely_empty(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch);

    /// Improve the multipliers of a region where the number of changes is limited (see ``ascent.hpp``).
    AscentResult improve(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch);
    /// The bound that multipliers prove for a region after they are made as small as possible; ``other`` are multipliers known
    /// before.
    ProvedBound shrink(const Path& path, const Box& box, Numbers multipliers, Constants other, Scratch& scratch);

private:
    static constexpr int OUTSIDE = -1, NAMED = -2;

    bool contradicts(const Path& path, const Box& box, Constants ray, Constants norm, Scratch& scratch);
    double snapped(std::size_t row, double value) const;
    /// The problem of a region with its solution.
    struct Attempt {
        Program program;
        std::size_t group_rows;
        bool closed;  // groups are in closed form and have no rows
        Numbers norm, lam, ray, point;
    };
    Bound attempt(const Path& path, const Box& box, Constants slack, const Dual& dual, Numbers change, bool closed,
                  Scratch& scratch);
    Attempt prepare(const Path& path, const Box& box, Constants slack, const Dual& dual, bool closed, Scratch& scratch);
    Bound run_solver(Attempt& attempt, const Path& path, const Box& box, const Dual& dual, Scratch& scratch);
    void prove_plain(const Attempt& attempt, const Box& box, const Sum& alone, Bound& found, Scratch& scratch) const;
    void choose_columns(const Path& path, const Box& box);
    void choose_values(std::size_t i, const Box& box);
    Program make_program(std::size_t paths, bool closed, Scratch& scratch) const;
    void write_groups(const Program& program) const;
    void write_rows(const Path& path, const Box& box, Constants slack, const Program& program);
    void scale_rows(const Program& program, Numbers norm) const;
    void add_charge(const Box& box, int d, Phi& phi) const;
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
    StopCheck* stop_check_ = nullptr;  // of the current call
    std::size_t max_rows_ = 0;
    bool source_is_best_ = false, spreads_charges_ = true;
    std::vector<double> at_source_;         // NaN where not yet computed
    std::vector<double> noise_;             // its rounding error
    std::vector<Phi> scaled_;               // phi of each variable in units of its scale
    std::uint64_t scaling_ = 0;             // the question to which they belong, see Question::scaling
    std::vector<int> slot_;                 // the column of a variable, OUTSIDE, or temporarily NAMED
    std::vector<int> columns_;              // the variable of a column, OUTSIDE for padding
    std::size_t numbers_ = 0;               // columns of numbers, padded where groups follow
    std::vector<int> groups_, group_slot_;  // the groups in the problem; the position of each group among them, or OUTSIDE
    std::vector<int> start_;                // where the columns of each group begin
};

}  // namespace counterleaf
