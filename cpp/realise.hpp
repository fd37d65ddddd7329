// A region's point as a row: on the model's numbers and the table's values, routed as the model does, priced.
#pragma once

#include "bound.hpp"
#include "box.hpp"
#include "question.hpp"

namespace counterleaf {

/// Where a state is split in two, other than by the tree. In each case the two sides hold every row of the state.
enum class Parting : std::uint8_t {
    Split,   // by the split at the parent's node
    Cut,     // a variable at most, or at least, a number
    Count,   // a feature stays, or is one of those that change
    Clause,  // the first, or the second, box of a clause
};

struct Choice {
    Parting parting = Parting::Split;
    int what = -1;                 // the variable, feature or clause
    double low = 0.0, high = 0.0;  // of a cut: at most the one, or at least the other
};

/// The point as a row: bounds and what is unchanged bit for bit, groups and grids on their nearest values, the rest on the
/// model's numbers; ``coarse`` rounds those to float32.
void place(const Question& question, Constants change, const Box& box, bool coarse, Numbers x);

/// Whether the model sends x down every split of the path, with the margin.
///
/// The slack of a split that it misses is raised: to twice the rounding of its sum, then twofold.
bool is_routed(const Question& question, Constants x, const Path& path, Numbers slack);

/// What the row x costs, class cost left out.
double cost_of(const Question& question, Constants x);

/// The square of the change, each feature in units of its cost.
double length(const Question& question, Constants x);

/// Where to fork a leaf whose point lies between rows of the table; x is the nearest row. ``is_counted`` tells the features of
/// which it is decided already if they change. Parting::Split if the point is a row.
template <class IsCounted>
Choice choose_fork(const Question& question, Constants change, const Box& box, Constants x, IsCounted is_counted);

/// A choice that is still open, with x on one side of it.
Choice any_choice(const Question& question, const Box& box, Constants x);

/// Narrow the box to where every choice is as in the row x; clauses and counts that x keeps stay kept.
void fix_choices(const Question& question, Constants x, Box& box);

/// A clause that x breaks.
Choice broken_clause(const Question& question, Constants x);
/// The value of a group, or the number on a grid, that is furthest from a whole choice.
Choice widest_gap(const Question& question, Constants change, const Box& box, Constants x);
/// How far each feature moves, in units of its cost: called for every feature that does.
template <class Visit>
void for_each_move(const Question& question, Constants change, Constants x, Visit visit);

inline constexpr double WHOLE = 1e-7;  // a 0/1 variable or a step this close to a whole number is taken for it

template <class Visit>
void for_each_move(const Question& question, Constants change, Constants x, Visit visit) {
    const Features& f = question.features;
    for (std::size_t d = 0; d < x.size();) {
        const int feature = question.layout.feature[d];
        double moved = 0.0;
        for (; d < x.size() && question.layout.feature[d] == feature; ++d) {
            if (question.layout.group[d] >= 0)
                moved = std::max(moved, std::fabs(change[d]) > WHOLE ? std::fabs(change[d]) : 0.0);
            else if (x[d] != f.source[d])
                moved = std::max(moved, std::fabs(x[d] - f.source[d]) * f.scale[d]);
        }
        if (moved > 0.0) visit(feature, moved);
    }
}

template <class IsCounted>
Choice choose_fork(const Question& question, Constants change, const Box& box, Constants x, IsCounted is_counted) {
    if (question.plain) return {};
    if (const Choice broken = broken_clause(question, x); broken.parting != Parting::Split) return broken;
    if (question.limits.most >= 0) {
        int changed = 0, best = -1;
        double most = 0.0;
        for_each_move(question, change, x, [&](int feature, double moved) {
            ++changed;
            if (moved > most && !is_counted(feature)) best = feature, most = moved;
        });
        if (changed > question.limits.most && best >= 0) return {.parting = Parting::Count, .what = best};
    }
    return widest_gap(question, change, box, x);
}

}  // namespace counterleaf
