#include "axis_aligned/search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace counterleaf::axis_aligned {
namespace {

/// Bounds from here on are dropped. Bounds and costs are sums in different orders, and among equal leaves the first one wins.
double ceiling_of(double cost) {
    constexpr double TIE = 2e-12;
    return std::nextafter(cost + TIE * std::fabs(cost), INF);
}

struct Move {
    double at, price;  // the value, and the price of the whole change to it
    bool is_open;      // whether there is such a value
};

/// Whether the index of one of finitely many values is valid and allowed.
bool is_allowed(const Query& query, const Field& field, double x) {
    return 0.0 <= x && x < field.size && query.upper[field.variable + static_cast<std::size_t>(x)] != 0.0;
}

/// Whether a row is valid and in its box, as almost all rows are.
template <bool PLAIN>
bool is_inside(const Query& query, const Fields& fields) {
    const double *row = query.row.data(), *lower = query.lower.data(), *upper = query.upper.data();
    bool inside = true;
    for (std::size_t d = 0; d < query.row.size(); ++d) {
        const double x = row[d];
        const std::size_t v = PLAIN ? d : fields[d].variable;
        if (PLAIN || fields[d].is_number())
            inside = inside & (std::fabs(x) <= query.limit) & (lower[v] <= x) & (x <= upper[v]);
        else
            inside = inside && is_allowed(query, fields[d], x);
    }
    return inside;
}

/// Whether every number is within the limit, and every other entry is the index of a value.
bool is_sound(const Query& query, const Fields& fields) {
    bool sound = true;
    for (std::size_t d = 0; d < query.row.size(); ++d) {
        const double x = query.row[d];
        sound = sound && std::fabs(x) <= query.limit && (fields[d].is_number() || (0.0 <= x && x < fields[d].size));
    }
    return sound;
}

/// The cheapest of the allowed values that ``goes`` accepts; among equals, the row's value or else the first.
template <class Goes>
Move choose(const Query& query, const Fields& fields, std::size_t d, Goes goes) {
    const auto from = static_cast<int>(query.row[d]);
    const double *upper = query.upper.data() + fields[d].variable, *prices = fields.prices(fields[d], from);
    Move best{0.0, INF, false};
    for (int v = 0; v < fields[d].size; ++v)
        if (upper[v] != 0.0 && goes(v) && (prices[v] < best.price || (prices[v] == best.price && v == from)))
            best = {static_cast<double>(v), prices[v], true};
    return best;
}

/// The nearest number to ``limit`` on its side that is on the grid.
double snap(const Field& field, double x, double limit, Side side) {
    if (field.step.is_free()) return limit;
    return side == Side::Left ? field.step.below(x, limit) : field.step.above(x, limit);
}

/// The cheapest value of a feature in the box.
Move enter(const Query& query, const Fields& fields, std::size_t d) {
    const Field& field = fields[d];
    const double x = query.row[d], lower = query.lower[field.variable], upper = query.upper[field.variable];
    if (!field.is_number()) {
        if (is_allowed(query, field, x)) return {x, 0.0, true};
        return choose(query, fields, d, [](int) { return true; });
    }
    if (lower <= x && x <= upper) return {x, 0.0, true};
    const Side side = x < lower ? Side::Right : Side::Left;
    const double at = snap(field, x, side == Side::Right ? lower : upper, side);
    return {at, field.phi[side](at - x) + field.charge, std::isfinite(at) && lower <= at && at <= upper};
}

}  // namespace

/// One search. Invariant: value[d] is the cheapest value of feature d in the box that the splits above the node leave, paid[d]
/// is the price of its change, and total is their sum.
template <bool PLAIN>
class Search::Walk {
public:
    Walk(Search& room, const Query& query)
        : room_(room), query_(query), boxes_(room.boxes_), fields_(boxes_.fields()), splits_(boxes_.splits().data()),
          row_(query.row.data()), least_(query.least.data()), value_(room.value_.data()), paid_(room.paid_.data()),
          deferred_(room.deferred_.get()), moves_(room.moves_.data()) {}

    Found run(bool inside, Numbers point) {
        for (std::size_t d = 0; d < query_.row.size(); ++d) value_[d] = row_[d];
        if (least_[0] < INF && (inside || is_entered())) {
            for (int node = 0; node >= 0; node = resume()) {
                const int leaf = descend(node);
                if (leaf >= 0) record(leaf);
            }
        }
        for (std::size_t k = 0; k < changed_; ++k) point[room_.changes_[k].feature] = room_.changes_[k].value;
        for (std::size_t k = 0; k < moved_; ++k) paid_[moves_[k].feature] = 0.0;
        return best_;
    }

private:
    struct Cheapest {  // of the deferred sides
        double bound;
        std::size_t at;
    };

    /// Move every feature into the box; false if one of them has no value there.
    bool is_entered() {
        for (std::size_t d = 0; d < query_.row.size(); ++d) {
            const Move to = enter(query_, fields_, d);
            if (!to.is_open) return false;
            if (to.at != row_[d]) move(static_cast<int>(d), to.at, to.price);
        }
        return !changes_too_many();
    }

    /// Whether more features change than a limit allows. A value moves only where the row's own value is ruled out, so that
    /// the same holds everywhere below.
    bool changes_too_many() const {
        if constexpr (PLAIN) return false;
        const std::size_t width = query_.row.size();
        for (std::size_t i = 0; i < query_.most.size(); ++i) {
            const std::span<const std::int8_t> marks = query_.members.subspan(i * width, width);
            std::int64_t count = 0;
            for (std::size_t k = 0; k < moved_; ++k) {
                const int d = moves_[k].feature;
                count += marks[d] && moves_[k].value == row_[d];  // its first move
            }
            if (count > query_.most[i]) return true;
        }
        return false;
    }

    /// Follow the current values to a leaf, or return -1 where no target is below. The other sides are deferred, the cheapest
    /// on top.
    int descend(int node) {
        Cheapest cheapest{ceiling_, waiting_};
        while (!splits_[node].is_leaf()) {
            const Split& split = splits_[node];
            const Side side = side_of(split);
            if (side == Side::Left) {
                defer(node, Side::Right, cheapest);
                node = split.child[Side::Left];
            } else if (PLAIN || side == Side::Right) {
                defer(node, Side::Left, cheapest);
                node = split.child[Side::Right];
            } else {
                defer(node, Side::Left, cheapest);
                defer(node, Side::Right, cheapest);
                node = -1;
                break;
            }
            if (!(least_[node] < INF)) {
                node = -1;
                break;
            }
        }
        if (cheapest.at + 1 < waiting_) std::swap(deferred_[cheapest.at], deferred_[waiting_ - 1]);
        return node;
    }

    Side side_of(const Split& split) const {
        const double at = value_[split.feature];
        if (PLAIN) return at <= split.cut[Side::Left] ? Side::Left : Side::Right;
        if (!fields_[split.feature].is_number()) return boxes_.sides(split)[static_cast<std::size_t>(at)];
        return at <= split.cut[Side::Left] ? Side::Left : at >= split.cut[Side::Right] ? Side::Right : Side::Neither;
    }

    /// Defer a side of a split. The processor cannot predict which bounds are low enough, so all are written and few are
    /// counted.
    void defer(int node, Side side, Cheapest& cheapest) {
        const Split& split = splits_[node];
        const int child = split.child[side];
        if (!PLAIN && !(least_[child] < INF)) return;
        const Move to = cross(node, side);
        const double bound = total_ - paid_[split.feature] + to.price + least_[child];
        deferred_[waiting_] = {bound, to.at, to.price, child, split.feature, moved_};
        const bool is_cheaper = to.is_open & (bound < cheapest.bound);
        cheapest.bound = is_cheaper ? bound : cheapest.bound;
        cheapest.at = is_cheaper ? waiting_ : cheapest.at;
        waiting_ += to.is_open & (bound < ceiling_);
    }

    /// The cheapest value on the side of a split where the feature is not.
    Move cross(int node, Side side) const {
        const Split& split = splits_[node];
        const auto d = static_cast<std::size_t>(split.feature);
        const Field& field = fields_[d];
        if (!PLAIN && !field.is_number())
            return choose(query_, fields_, d, [&, sides = boxes_.sides(split)](int v) { return sides[v] == side; });
        const double at = PLAIN ? split.cut[side] : snap(field, row_[d], split.cut[side], side);
        const double price = field.phi[side](at - row_[d]) + field.charge;
        if (PLAIN) return {at, price, true};
        const auto [low, high] = boxes_.interval(node);
        const double lower = query_.lower[field.variable], upper = query_.upper[field.variable];
        return {at, price, low <= at && at <= high && lower <= at && at <= upper};
    }

    void record(int leaf) {
        const double cost = price_in_order() + least_[leaf];
        if (!(cost < best_.cost || (cost == best_.cost && leaf < best_.leaf))) return;
        best_ = {Outcome::Found, leaf, cost};
        ceiling_ = ceiling_of(cost);
        changed_ = moved_;
        for (std::size_t k = 0; k < moved_; ++k) room_.changes_[k] = {value_[moves_[k].feature], moves_[k].feature};
    }

    /// The price of all changes, summed in the order of the features.
    double price_in_order() {
        int* order = room_.order_.data();
        std::size_t size = 0;
        for (std::size_t k = 0; k < moved_; ++k) {
            const int d = moves_[k].feature;
            if (paid_[d] == 0.0) continue;
            std::size_t at = size;
            while (at > 0 && order[at - 1] > d) --at;
            if (at > 0 && order[at - 1] == d) continue;
            std::copy_backward(order + at, order + size, order + size + 1);
            order[at] = d;
            ++size;
        }
        double total = 0.0, charges = 0.0;  // added as in the cost of a row of the other search
        for (std::size_t k = 0; k < size; ++k) {
            const int d = order[k];
            const Field& field = fields_[d];
            const double change = value_[d] - row_[d];
            charges += field.charge;
            total += field.charge == 0.0 ? paid_[d] : field.phi[change < 0.0 ? Side::Left : Side::Right](change);
        }
        return total + charges;
    }

    /// Go back to the last deferred side that may lead to a better leaf; returns its node, or -1 if there is none.
    int resume() {
        while (waiting_ > 0) {
            const Deferred& turn = deferred_[--waiting_];
            if (!(turn.bound < ceiling_)) continue;
            for (; moved_ > turn.moved; --moved_) {
                const Moved& last = moves_[moved_ - 1];
                value_[last.feature] = last.value, paid_[last.feature] = last.paid, total_ = last.total;
            }
            move(turn.feature, turn.at, turn.price);
            if (!changes_too_many()) return turn.node;
        }
        return -1;
    }

    void move(int feature, double at, double price) {
        moves_[moved_++] = {value_[feature], paid_[feature], total_, feature};
        total_ += price - paid_[feature];
        value_[feature] = at, paid_[feature] = price;
    }

    Search& room_;
    const Query& query_;
    const Boxes& boxes_;
    const Fields& fields_;
    const Split* splits_;
    const double *row_, *least_;
    double *value_, *paid_;
    Deferred* deferred_;
    Moved* moves_;
    double total_ = 0.0, ceiling_ = INF;
    std::size_t waiting_ = 0, moved_ = 0, changed_ = 0;  // sizes of ``deferred_``, ``moves_`` and the changes of the best row
    Found best_;
};

Search::Search(const Boxes& boxes)
    : boxes_(boxes), value_(boxes.width()), paid_(boxes.width(), 0.0),
      deferred_(std::make_unique_for_overwrite<Deferred[]>(boxes.splits().size())), moves_(boxes.width() + boxes.depth()),
      changes_(boxes.width() + boxes.depth()), order_(boxes.width()) {}

template <bool PLAIN>
Found Search::find(Query query, Numbers point) {
    std::ranges::copy(query.row, point.begin());
    if (!PLAIN) query.row = point;  // the caller cannot change this copy between the check of an index and its use
    const bool inside = is_inside<PLAIN>(query, boxes_.fields());
    if (!inside && (PLAIN || !is_sound(query, boxes_.fields()))) return {Outcome::Unanswered};
    return Walk<PLAIN>(*this, query).run(inside, point);
}

template Found Search::find<true>(Query, Numbers);
template Found Search::find<false>(Query, Numbers);

}  // namespace counterleaf::axis_aligned
