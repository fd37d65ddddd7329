// A sum over features where the number of changes is limited.
//
// Each feature adds its least worth. A feature that may stay at its source, where it is worth 0, gains by moving. Those that a
// fork has counted, or that cannot stay in the box, are some of those that change; of the others only as many of the largest
// gains count as may still change, for the rest stay. Without such a limit it is the sum.
#pragma once

#include "bound/box.hpp"
#include "question/question.hpp"

namespace counterleaf {

class LimitedSum {
public:
    LimitedSum(const Question& question, const Box& box);

    /// Add what variable v is worth at least; of a group, once for all, with v the source's own value.
    void add(std::size_t v, double worth);

    /// The sum, once everything has been added.
    double total();

    /// Whether the sum has a feature stay though it would gain.
    bool stays(int feature) const { return is_limited_ && fate_[feature] == Fate::Stays; }

    /// Whether a feature moves in the sum: it gains most, or it has no choice.
    bool moves(int feature) const { return is_limited_ && fate_[feature] == Fate::Moves; }

private:
    enum class Fate : std::uint8_t { Open, Moves, Stays };

    const Question& question_;
    const Box& box_;
    bool is_limited_;
    double total_ = 0.0;
    std::vector<double> gain_;  // per feature, where it is limited
    std::vector<Fate> fate_;
    std::vector<int> open_;
};

}  // namespace counterleaf
