#include "bound/change_sum.hpp"

#include <utility>

namespace counterleaf {

ChangeSum::ChangeSum(const Question& question, const Box& box, bool charged, double forced)
    : question_(question), box_(box), counts_(question.counts_changes()), charged_(charged && !question.charges.empty()),
      forced_(forced) {
    if (!counts_) return;
    gain_.assign(question.layout.features(), 0.0);
    fate_.assign(question.layout.features(), Fate::Open);
}

void ChangeSum::add(std::size_t v, double worth) {
    if (!counts_) {
        total_ += worth;
        return;
    }
    const int feature = question_.layout.feature[v];
    gain_[feature] += worth;
    if (box_.quota.counted[feature] || !box_.holds(v, question_.features.source[v])) fate_[feature] = Fate::Moves;
}

double ChangeSum::total() {
    if (!counts_) return total_;
    const std::vector<Fate> fates = fate_;
    const double plain = forced_ > 0.0 ? add_up(false) : -INF;
    const std::vector<Fate> plain_fates = std::exchange(fate_, fates);
    const double charged = add_up(charged_);
    if (plain > charged) fate_ = plain_fates;
    return std::max(plain, charged);
}

/// The sum in which each change pays its charge or, if not ``charged``, only those that happen anyway and those that are
/// forced.
double ChangeSum::add_up(bool charged) {
    double total = 0.0, charges = charged_ && !charged ? forced_ : 0.0;
    for (std::size_t feature = 0; feature < gain_.size(); ++feature) {
        if (fate_[feature] == Fate::Moves) {
            charges += charged_ ? charge_of(feature) : 0.0;
            continue;
        }
        const double charge = charged ? charge_of(feature) : 0.0;
        if (gain_[feature] + charge < 0.0)
            fate_[feature] = Fate::Gains;
        else if (charge > 0.0)
            fate_[feature] = Fate::Stays;
    }
    limit_gains(charged);
    for (std::size_t feature = 0; feature < gain_.size(); ++feature) {
        if (fate_[feature] == Fate::Gains && charged) charges += charge_of(feature);
        if (fate_[feature] == Fate::Gains) fate_[feature] = Fate::Moves;
        if (fate_[feature] == Fate::Moves) total += gain_[feature];
    }
    charges_ = std::max(charges_, charges);
    return total + charges;
}

/// Let the features stay that gain least, where a limit does not let all of them change.
void ChangeSum::limit_gains(bool charged) {
    double most = 0.0;
    std::vector<int> staying;
    for (std::size_t i = 0; i < question_.change_limits.size(); ++i) {
        const ChangeLimit& limit = question_.change_limits[i];
        open_.clear();
        int left = box_.quota.left[i];
        for (std::size_t feature = 0; feature < gain_.size(); ++feature) {
            if (!limit.members[feature]) continue;
            if (fate_[feature] == Fate::Gains) open_.push_back(static_cast<int>(feature));
            if (fate_[feature] == Fate::Moves && !box_.quota.counted[feature]) --left;  // it must change
        }
        const auto first = open_.begin() + std::min<std::ptrdiff_t>(std::max(left, 0), std::ssize(open_));
        const auto gain = [&](int feature) { return gain_[feature] + (charged ? charge_of(feature) : 0.0); };
        std::ranges::nth_element(open_, first, [&](int a, int b) { return gain(a) != gain(b) ? gain(a) < gain(b) : a < b; });
        double lost = 0.0;
        for (auto at = first; at != open_.end(); ++at) lost -= gain(*at);
        if (lost > most) most = lost, staying.assign(first, open_.end());
    }
    for (int feature : staying) fate_[feature] = Fate::Stays;
}

}  // namespace counterleaf
