// The part of the space that a path's splits and forks on single variables leave, kept as tight as groups allow.
//
// Of the 0/1 variables of a group exactly one is 1: upper = 0 rules a value out, lower = 1 chooses it. Every narrowing is
// written on a trail, so that the box goes back to what it was before.
#pragma once

#include "question/question.hpp"

namespace counterleaf {

/// How many features may still change.
struct Quota {
    int left = -1;              // beyond those that forks have counted; -1 for any number
    std::vector<char> counted;  // per feature: whether a fork says that it is one of those that change

    bool is_limited() const { return left >= 0; }
};

class Box {
public:
    /// The question's own box; false if it is empty.
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
    /// The variables that were narrowed since a mark.
    std::span<const Interval> since(std::size_t mark) const { return std::span(trail_).subspan(mark); }
    /// Go back to a mark.
    void undo(std::size_t mark) {
        for (; trail_.size() > mark; trail_.pop_back()) {
            const Interval& last = trail_.back();
            lower_[last.variable] = last.lower, upper_[last.variable] = last.upper;
        }
    }

    /// What was narrowed since a mark drawn to its end: a value chosen rules out the others of its group, the last one left is
    /// chosen. False if some variable has no value left.
    bool propagate(std::size_t mark);

    Quota quota;  // of the state that the box belongs to

private:
    bool propagate_group(int g);
    bool has_room(std::size_t d) const { return lower_[d] <= upper_[d] && lower_[d] < INF && upper_[d] > -INF; }

    const Layout* layout_ = nullptr;
    std::vector<double> lower_, upper_;
    std::vector<Interval> trail_;  // what was there before
    std::vector<int> seen_;        // per group: the last round that looked at it
    int round_ = 0;
};

}  // namespace counterleaf
