// A sum over features where the number of changes is limited.
//
// Each feature contributes its minimum. A feature that may stay at its source, where it contributes 0, gains by moving.
// Features that a fork has counted, or that cannot stay in the box, belong to those that change. Among the others, only the
// largest gains count, as many as may still change. Without a limit this is the plain sum.
#pragma once

#include "bound/box.hpp"
#include "question/question.hpp"

namespace counterleaf {

class LimitedSum {
public:
    LimitedSum(const Question& question, const Box& box);

    /// Add the minimum of variable v; for a group, call it once with the variable that is 1 in the source.
    void add(std::size_t v, double worth);

    /// The sum, after everything has been added.
    double total();

    /// Whether a feature stays in the sum although it would gain.
    bool stays(int feature) const { return is_limited_ && fate_[feature] == Fate::Stays; }

    /// Whether a feature moves in the sum: it gains most, or it must move.
    bool moves(int feature) const { return is_limited_ && fate_[feature] == Fate::Moves; }

private:
    enum class Fate : std::uint8_t { Open, Moves, Stays };

    const Question& question_;
    const Box& box_;
    bool is_limited_;
    double total_ = 0.0;
    std::vector<double> gain_;  // per feature, if the number of changes is limited
    std::vector<Fate> fate_;
    std::vector<int> open_;
};

}  // namespace counterleaf
