#include "learn/stump.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace counterleaf::learn {
namespace {

/// The weight of rows that should go right, and of those that should go left.
struct Sides {
    double up = 0.0, down = 0.0;

    void add(const Sides& other) { up += other.up, down += other.down; }
};

/// The rows of a sample in the order of a column; rows with equal entries keep their order.
class Order {
public:
    explicit Order(const Sample& sample) : rows_(sample.rows), keys_(rows_.size()), room_(rows_.size()) {}

    std::size_t size() const { return keys_.size(); }
    std::size_t place(std::size_t i) const { return keys_[i] & PLACE; }
    std::uint64_t rank(std::size_t i) const { return keys_[i] >> SHIFT; }

    void sort(std::span<const int> ranks, std::size_t distinct) {
        for (std::size_t i = 0; i < size(); ++i) keys_[i] = static_cast<std::uint64_t>(ranks[rows_[i]]) << SHIFT | i;
        if (size() < FEW) {
            std::ranges::sort(keys_);
        } else {
            for (int digit = 0; (distinct - 1) >> digit > 0; digit += DIGIT) sort_by(SHIFT + digit);
        }
    }

private:
    static constexpr int SHIFT = 32, DIGIT = 8;
    static constexpr std::uint64_t PLACE = (std::uint64_t{1} << SHIFT) - 1, VALUES = std::uint64_t{1} << DIGIT;
    static constexpr std::size_t FEW = 64;

    /// By one digit of the rank.
    void sort_by(int shift) {
        std::array<std::size_t, VALUES> counts{}, at;
        for (const std::uint64_t key : keys_) ++counts[(key >> shift) % VALUES];
        std::exclusive_scan(counts.begin(), counts.end(), at.begin(), std::size_t{0});
        for (const std::uint64_t key : keys_) room_[at[(key >> shift) % VALUES]++] = key;
        keys_.swap(room_);
    }

    std::span<const int> rows_;
    std::vector<std::uint64_t> keys_, room_;  // a rank and, in the lower half, a position
};

/// The midpoint of low and high. Adjacent floats have no midpoint; then the cut is the value on the closed side of the split.
double between(double low, double high, double sign) {
    const double middle = low / 2.0 + high / 2.0;
    if (sign > 0.0 && middle <= low) return high;
    if (sign < 0.0 && middle >= high) return low;
    return middle;
}

}  // namespace

Columns::Columns(const Table& X) : X_(X), ranks_(X.rows * X.columns), distinct_(X.columns, 0) {
    std::vector<std::pair<double, int>> order(X.rows);
    for (std::size_t j = 0; j < X.columns; ++j) {
        for (std::size_t r = 0; r < X.rows; ++r) order[r] = {X(r, j), static_cast<int>(r)};
        std::ranges::sort(order);
        int rank = -1;
        for (std::size_t i = 0; i < X.rows; ++i) {
            if (i == 0 || order[i].first != order[i - 1].first) ++rank;
            ranks_[j * X.rows + static_cast<std::size_t>(order[i].second)] = rank;
        }
        distinct_[j] = static_cast<std::size_t>(rank) + 1;
    }
}

Cut best_cut(const Columns& columns, const Sample& sample, double lam) {
    const Table& X = columns.table();
    std::vector<Sides> weight(sample.size());
    Sides all;
    for (std::size_t i = 0; i < sample.size(); ++i) {
        (sample.side[i] > 0.0 ? weight[i].up : weight[i].down) = sample.weight[i];
        all.add(weight[i]);
    }
    Cut best{std::nullopt, 0.0, all.up >= all.down ? 1.0 : -1.0, std::min(all.up, all.down)};
    double least = best.missed - lam;
    Order order(sample);
    for (std::size_t j = 0; j < X.columns; ++j) {
        if (columns.distinct(j) < 2) continue;
        order.sort(columns.ranks(j), columns.distinct(j));
        Sides low;  // invariant: of the rows below the cut
        for (std::size_t i = 0; i + 1 < sample.size(); ++i) {
            low.add(weight[order.place(i)]);
            if (order.rank(i) == order.rank(i + 1)) continue;
            const double straight = low.up + (all.down - low.down), turned = low.down + (all.up - low.up);
            if (!(std::min(straight, turned) < least)) continue;
            least = std::min(straight, turned);
            const double sign = straight <= turned ? 1.0 : -1.0;
            const double x = X(sample.rows[order.place(i)], j), next = X(sample.rows[order.place(i + 1)], j);
            best = {j, between(x, next, sign), sign, least};
        }
    }
    return best;
}

bool improve_cut(const Columns& columns, const Sample& sample, double alpha, Split& split) {
    const std::size_t column = main_column(split.w);
    const double w = split.w[column];
    double total = 0.0, before = 0.0;
    for (std::size_t i = 0; i < sample.size(); ++i) {
        total += sample.weight[i];
        const bool goes_right = w * columns.table()(sample.rows[i], column) + split.b >= 0.0;
        if (goes_right != (sample.side[i] > 0.0)) before += sample.weight[i];
    }
    const double lam = strength(alpha, total);
    const Cut cut = best_cut(columns, sample, lam);
    if (!(cut.missed + (cut.feature ? lam : 0.0) < before + (w != 0.0 ? lam : 0.0))) return false;
    std::ranges::fill(split.w, 0.0);
    split.b = cut.sign;
    if (cut.feature) {
        split.w[*cut.feature] = cut.sign;
        split.b = -cut.sign * cut.threshold;
    }
    return true;
}

std::size_t main_column(Constants w) {
    const auto smaller = [](double a, double b) { return std::fabs(a) < std::fabs(b); };
    return static_cast<std::size_t>(std::ranges::max_element(w, smaller) - w.begin());
}

}  // namespace counterleaf::learn
