#include "axis_aligned/boxes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace counterleaf::axis_aligned {
namespace {

constexpr double LAST = std::numeric_limits<double>::max();  // values are finite, so a cut at infinity leaves a side empty

bool is_plain(const Field& field) { return field.is_number() && field.step.is_free(); }

/// Whether some number goes to neither side.
bool has_gap(const Split& split) {
    const auto [last, first] = split.cut.both;
    return !split.is_leaf() && last != first && std::nextafter(last, INF) != first;
}

}  // namespace

Boxes::Boxes(Fields fields, std::vector<Split> splits, std::vector<Side> sides, std::vector<int> labels)
    : fields_(std::move(fields)), splits_(std::move(splits)), intervals_(splits_.size(), {-LAST, LAST}),
      sides_(std::move(sides)), labels_(std::move(labels)),
      plain_(std::ranges::all_of(fields_.all, axis_aligned::is_plain) && std::ranges::none_of(splits_, has_gap)) {
    int next = 0;
    for (Split& split : splits_) {
        split.sides = next;
        if (!split.is_leaf()) next += fields_[split.feature].size;
    }
    std::vector<int> parents(splits_.size(), -1), open{0};
    std::vector<std::size_t> depths(splits_.size(), 0);
    while (!open.empty()) {  // parents before children
        const int node = open.back();
        open.pop_back();
        depth_ = std::max(depth_, depths[node]);
        if (splits_[node].is_leaf()) continue;
        narrow(node, parents);
        for (const int child : splits_[node].child.both) {
            parents[child] = node;
            depths[child] = depths[node] + 1;
            open.push_back(child);
        }
    }
}

/// Find the values of a split's feature that reach it: those that the nearest split above on the same feature sends there.
void Boxes::narrow(int node, const std::vector<int>& parents) {
    const Split& split = splits_[node];
    int below = node, at = parents[node];
    while (at >= 0 && splits_[at].feature != split.feature) below = at, at = parents[at];
    if (at < 0) return;
    const Split& above = splits_[at];
    const Side side = above.child[Side::Left] == below ? Side::Left : Side::Right;
    const auto [low, high] = intervals_[at];
    if (side == Side::Left) intervals_[node] = {low, std::min(high, above.cut[Side::Left])};
    if (side == Side::Right) intervals_[node] = {std::max(low, above.cut[Side::Right]), high};
    for (int v = 0; v < fields_[split.feature].size; ++v)
        if (sides_[above.sides + v] != side) sides_[split.sides + v] = Side::Neither;
}

int Boxes::label_of(Constants row) const {
    int node = 0;
    while (!splits_[node].is_leaf()) {
        const Split& split = splits_[node];
        node = row[split.feature] <= split.cut[Side::Left] ? split.child[Side::Left] : split.child[Side::Right];
    }
    return labels_[node];
}

void Boxes::close(Constants lower, Constants upper, Numbers least) const {
    for (std::size_t i = 0; i < splits_.size(); ++i) {
        const Split& split = splits_[i];
        if (split.is_leaf()) continue;
        const auto [low, high] = intervals_[i];
        if (split.cut[Side::Left] < std::max(low, lower[split.feature])) least[split.child[Side::Left]] = INF;
        if (split.cut[Side::Right] > std::min(high, upper[split.feature])) least[split.child[Side::Right]] = INF;
    }
}

}  // namespace counterleaf::axis_aligned
