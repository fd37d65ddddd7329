// How to fork a leaf whose point is not a row of the table.
#pragma once

#include <optional>

#include "bound/box.hpp"
#include "question/question.hpp"

namespace counterleaf {

/// How a state is divided in two. The two sides always contain every row of the state.
enum class Parting : std::uint8_t {
    Split,   // the split at the parent's node
    Cut,     // a variable is at most, or at least, a number
    Count,   // a feature stays, or belongs to those that change
    Clause,  // the first, or the second, box of a clause
};

struct Choice {
    Parting parting;
    int what;                      // the variable of a Cut, the feature of a Count or the clause of a Clause
    double low = 0.0, high = 0.0;  // of a Cut: at most ``low``, or at least ``high``
};

/// The choices of a leaf: the value of a group, the number on a grid, the box of a clause, and the features that change.
class Forks {
public:
    /// ``counted``, per feature: whether a fork above has decided if it changes. ``named``, per variable: whether it or its
    /// group appears in a row of the path or in a clause.
    Forks(const Question& question, const Box& box, std::span<const char> counted, std::span<const char> named)
        : question(question), box(box), counted(counted), named(named) {}

    /// Where to fork a leaf whose point lies between rows of the table; x is the nearest row. Nothing if the point is a row.
    std::optional<Choice> at_point(Constants change, Constants x) const;

    /// An open choice that matters to the rows of the leaf; for a group or a grid, x lies on one side of it.
    std::optional<Choice> any(Constants x) const;

    /// Narrow a box to the choices of the row x.
    void fix(Constants x, Box& to) const;

private:
    std::optional<Choice> broken_clause(Constants x) const;
    std::optional<Choice> one_too_many(Constants change, Constants x) const;
    std::optional<Choice> furthest(Constants change, Constants x, const ChangeLimit& limit) const;
    std::optional<Choice> unpaid(Constants x) const;
    std::optional<Choice> widest_gap(Constants change, Constants x) const;
    bool is_within(const Clause& clause, Side side) const;

    const Question& question;
    const Box& box;
    std::span<const char> counted, named;
};

}  // namespace counterleaf
