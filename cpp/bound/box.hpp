// The box that the splits and forks on single variables of a path leave, with one-hot groups propagated.
//
// Exactly one of the 0/1 variables of a group is 1: upper = 0 rules a value out, lower = 1 chooses it. Every change is recorded
// on a trail, so that the box can be restored.
#pragma once

#include "question/question.hpp"

namespace counterleaf {

/// The features that change, where that matters.
struct Quota {
    std::vector<char> counted;  // per feature: whether a fork has decided that it changes
    std::vector<int> left;      // per limit: how many of its features may still change, not including those that are counted
};

class Box {
public:
    /// Start with the box of a question; false if it is empty.
    bool begin(const Question& question);

    double lower(std::size_t d) const { return lower_[d]; }
    double upper(std::size_t d) const { return upper_[d]; }
    Constants lower() const { return lower_; }
    Constants upper() const { return upper_; }
    bool can_move(std::size_t d) const { return lower_[d] < upper_[d]; }
    bool holds(std::size_t d, double value) const { return lower_[d] <= value && value <= upper_[d]; }

    /// Intersect with [low, high] in one variable.
    void narrow(std::size_t d, double low, double high) {
        if (low <= lower_[d] && high >= upper_[d]) return;
        trail_.push_back({static_cast<int>(d), lower_[d], upper_[d]});
        lower_[d] = std::max(lower_[d], low);
        upper_[d] = std::min(upper_[d], high);
    }

    std::size_t mark() const { return trail_.size(); }
    /// The variables that were narrowed since a mark, with their previous bounds.
    std::span<const Interval> since(std::size_t mark) const { return std::span(trail_).subspan(mark); }
    /// Restore the box of a mark.
    void undo(std::size_t mark) {
        for (; trail_.size() > mark; trail_.pop_back()) {
            const Interval& last = trail_.back();
            lower_[last.variable] = last.lower, upper_[last.variable] = last.upper;
        }
    }

    /// Propagate what was narrowed since a mark: a chosen value rules out the other values of its group, and the last remaining
    /// value is chosen. Returns false if a variable has no value left.
    bool propagate(std::size_t mark);

    Quota quota;  // of the state to which the box belongs

private:
    bool propagate_group(int g);
    bool has_room(std::size_t d) const { return lower_[d] <= upper_[d] && lower_[d] < INF && upper_[d] > -INF; }

    const Layout* layout_ = nullptr;
    std::vector<double> lower_, upper_;
    std::vector<Interval> trail_;  // previous bounds
    std::vector<int> seen_;        // per group: the last round in which it was propagated
    int round_ = 0;
};

}  // namespace counterleaf
