// A sum over features where changes are limited in number, or charged one by one.
//
// Each feature contributes its minimum, and its charge if it changes. A feature that may stay at its source, where it
// contributes 0, gains by moving if its minimum and its charge add up to less. Features that a fork has counted, or that cannot
// stay in the box, belong to those that change. Where only some of a set of features may change, those of the others that gain
// most count, as many as may still change; with several such limits, the one that leaves the largest sum. If the rows of a
// region force changes (see ``forced_charges.hpp``), another sum may be larger: the one in which only features that change
// anyway pay their charges, plus the charges that are forced. Without limits and charges this is the plain sum.
#pragma once

#include "bound/box.hpp"
#include "question/question.hpp"

namespace counterleaf {

class ChangeSum {
public:
    /// ``charged``: whether features that change pay their charges, as in a cost, or not, as in a proof of emptiness.
    /// ``forced`` are the charges that the rows force.
    ChangeSum(const Question& question, const Box& box, bool charged, double forced = 0.0);

    /// Add the minimum of variable v; for a group, call it once with the variable that is 1 in the source.
    void add(std::size_t v, double worth);

    /// The sum, after everything has been added.
    double total();

    /// An upper bound on the charges that are part of the sum.
    double charges() const { return charges_; }

    /// Whether a feature stays in the sum although it could move.
    bool stays(int feature) const { return counts_ && fate_[feature] == Fate::Stays; }

    /// Whether a feature moves in the sum: it gains most, or it must move.
    bool moves(int feature) const { return counts_ && fate_[feature] == Fate::Moves; }

private:
    enum class Fate : std::uint8_t { Open, Gains, Moves, Stays };

    double charge_of(std::size_t feature) const { return question_.charges.empty() ? 0.0 : question_.charges[feature]; }
    double add_up(bool charged);
    void limit_gains(bool charged);

    const Question& question_;
    const Box& box_;
    bool counts_, charged_;
    double total_ = 0.0, charges_ = 0.0, forced_;
    std::vector<double> gain_;  // per feature, if changes are counted
    std::vector<Fate> fate_;
    std::vector<int> open_;
};

}  // namespace counterleaf
