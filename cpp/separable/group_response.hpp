// The response of one-hot groups to prices, in closed form (see ``newton.hpp``).
//
// At the prices ``price`` + t ``price_step`` the best z of a group is the projection of (price + t price_step - slope) / s on
// the unit simplex. It is piecewise linear in t, with a constant support on each piece.
#pragma once

#include "separable/program.hpp"

namespace counterleaf {

class GroupResponse {
public:
    /// ``price`` and ``price_step`` are read at every call, so the caller may change their numbers.
    GroupResponse(const Program& program, Constants price, Constants price_step, Scratch& scratch);

    /// Write a group's response, its weights, and its columns minus their mean over the support; returns its phi.
    double respond(std::size_t g, Numbers delta, Numbers weight, Grid centred) const;

    /// The next t' > t at which the support of a group changes; inf if there is none.
    double next_break(std::size_t g, double t) const;

    /// Add a group's contribution to price_step @ d, to its derivative and to the size of its terms.
    void add_slope(std::size_t g, double t, Slope& out) const;

private:
    double project(std::size_t g, double t) const;

    struct Entry {
        int column;
        double excess;  // over the largest entry of its group, at most 0
    };
    const Program& p;
    const Curves& c;
    const Constants price, price_step;
    Numbers z;                         // per column of a group
    std::span<Entry> near;             // the columns of a group that may be in its support
    mutable std::span<Entry> support;  // of the group that was projected last
    Places home;                       // the column of each group that is 1 in the source, -1 if it is not in the problem
};

}  // namespace counterleaf
