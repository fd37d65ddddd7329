// The one-hot groups of ``newton.hpp``, each in closed form.
//
// At the prices ``price`` + t ``price_step`` the best z of a group is the projection of (price + t price_step - slope) / s on
// the unit simplex. It is piecewise linear in t: within a piece the entries of its support share what the simplex leaves them.
#pragma once

#include "separable/program.hpp"

namespace counterleaf {

class GroupResponse {
public:
    /// ``price`` and ``price_step`` are read anew whenever something is asked.
    GroupResponse(const Program& program, Constants price, Constants price_step, Scratch& scratch);

    /// A group's response to its prices, its weights, and its columns less their mean over the support; returns its phi.
    double respond(std::size_t g, Numbers delta, Numbers weight, Grid centred) const;

    /// The next t' > t at which the support of a group changes; inf if it does not.
    double next_break(std::size_t g, double t) const;

    /// Add a group's part of price_step @ d, its derivative and the size of its terms.
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
    std::span<Entry> near;             // room for the columns of a group that may be in its support
    mutable std::span<Entry> support;  // those of the group that was projected last
    Places home;                       // the column of each group that is 1 in the source, -1 where it is not in the problem
};

}  // namespace counterleaf
