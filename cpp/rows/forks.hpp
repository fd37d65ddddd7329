// Where a leaf forks whose point is not a row of the table.
#pragma once

#include <optional>

#include "bound/box.hpp"
#include "question/question.hpp"

namespace counterleaf {

/// Where a state is split in two, other than by the tree. In each case the two sides hold every row of the state.
enum class Parting : std::uint8_t {
    Split,   // by the split at the parent's node
    Cut,     // a variable at most, or at least, a number
    Count,   // a feature stays, or is one of those that change
    Clause,  // the first, or the second, box of a clause
};

struct Choice {
    Parting parting;
    int what;                      // the variable, feature or clause
    double low = 0.0, high = 0.0;  // of a cut: at most the one, or at least the other
};

/// The choices of a leaf: which value of a group, which number of a grid, which box of a clause, which features change.
class Forks {
public:
    /// ``counted``, per feature: whether a fork above decides if it changes. ``named``, per variable: whether a row of the
    /// path, or a clause, names it or its group.
    Forks(const Question& question, const Box& box, std::span<const char> counted, std::span<const char> named)
        : question(question), box(box), counted(counted), named(named) {}

    /// Where to fork a leaf whose point lies between rows of the table; x is the nearest row. Nothing if the point is a row.
    std::optional<Choice> at_point(Constants change, Constants x) const;

    /// A choice that is still open and matters to the leaf's rows; of a group or grid, x lies on one side of it.
    std::optional<Choice> any(Constants x) const;

    /// Narrow a box to where every choice is as in the row x.
    void fix(Constants x, Box& to) const;

private:
    std::optional<Choice> broken_clause(Constants x) const;
    std::optional<Choice> one_too_many(Constants change, Constants x) const;
    std::optional<Choice> widest_gap(Constants change, Constants x) const;
    bool is_within(const Clause& clause, Side side) const;

    const Question& question;
    const Box& box;
    std::span<const char> counted, named;
};

}  // namespace counterleaf
