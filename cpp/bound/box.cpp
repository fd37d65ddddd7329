#include "bound/box.hpp"

namespace counterleaf {

bool Box::begin(const Question& question) {
    const Features& f = question.features;
    layout_ = &question.layout;
    lower_.assign(f.lower.begin(), f.lower.end());
    upper_.assign(f.upper.begin(), f.upper.end());
    trail_.clear();
    quota.counted.assign(layout_->features(), false);
    quota.left.clear();
    for (const ChangeLimit& limit : question.change_limits) quota.left.push_back(limit.most);
    seen_.assign(layout_->groups(), 0);
    round_ = 0;
    bool room = true;
    for (std::size_t g = 0; g < layout_->groups(); ++g) room = propagate_group(static_cast<int>(g)) && room;
    for (std::size_t d = 0; d < lower_.size(); ++d) room = room && has_room(d);
    trail_.clear();  // ``undo`` must not go back beyond this point
    return room;
}

bool Box::propagate(std::size_t mark) {
    ++round_;
    for (std::size_t k = mark; k < trail_.size(); ++k) {  // the trail grows while groups are propagated
        const int d = trail_[k].variable;
        if (!has_room(d)) return false;
        const int g = layout_->group[d];
        if (g < 0 || seen_[g] == round_) continue;
        seen_[g] = round_;
        if (!propagate_group(g)) return false;
    }
    return true;
}

bool Box::propagate_group(int g) {
    const int first = layout_->first[g], last = layout_->last[g];
    int left = 0, chosen = 0, choice = -1, only = -1;
    for (int v = first; v < last; ++v) {
        if (lower_[v] > 0.0) ++chosen, choice = v;
        if (upper_[v] > 0.0) ++left, only = v;
    }
    if (left == 0 || chosen > 1) return false;
    if (chosen == 1) {
        for (int v = first; v < last; ++v)
            if (v != choice) narrow(v, 0.0, 0.0);
    } else if (left == 1) {
        narrow(only, 1.0, 1.0);
    }
    return true;
}

}  // namespace counterleaf
