#include "bound/limited_sum.hpp"

namespace counterleaf {

LimitedSum::LimitedSum(const Question& question, const Box& box)
    : question_(question), box_(box), is_limited_(box.quota.is_limited()) {
    if (!is_limited_) return;
    gain_.assign(question.features.width(), 0.0);
    fate_.assign(question.features.width(), Fate::Open);
}

void LimitedSum::add(std::size_t v, double worth) {
    if (!is_limited_) {
        total_ += worth;
        return;
    }
    const int feature = question_.layout.feature[v];
    gain_[feature] += worth;
    if (box_.quota.counted[feature] || !box_.holds(v, question_.features.source[v])) fate_[feature] = Fate::Moves;
}

double LimitedSum::total() {
    if (!is_limited_) return total_;
    open_.clear();
    int forced = 0;  // features that must change although no fork has counted them
    for (std::size_t feature = 0; feature < gain_.size(); ++feature) {
        if (fate_[feature] == Fate::Moves && !box_.quota.counted[feature]) ++forced;
        if (fate_[feature] == Fate::Moves)
            total_ += gain_[feature];
        else if (gain_[feature] < 0.0)
            open_.push_back(static_cast<int>(feature));
    }
    const std::size_t left = std::min<std::size_t>(std::max(box_.quota.left - forced, 0), open_.size());
    const auto gains_more = [&](int a, int b) { return gain_[a] != gain_[b] ? gain_[a] < gain_[b] : a < b; };
    std::ranges::nth_element(open_, open_.begin() + static_cast<std::ptrdiff_t>(left), gains_more);
    for (std::size_t k = 0; k < open_.size(); ++k) {
        fate_[open_[k]] = k < left ? Fate::Moves : Fate::Stays;
        if (k < left) total_ += gain_[open_[k]];
    }
    return total_;
}

}  // namespace counterleaf
