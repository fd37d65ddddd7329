#include "linear/band.hpp"

namespace counterleaf {
namespace {

constexpr double ROUNDING = 1e-15;  // relative to the diagonal: a smaller pivot counts as 0
constexpr std::size_t WIDE = 128;   // from this width on, the panels are larger
constexpr std::size_t PANEL = 4 * BLOCK;

std::size_t panel_of(std::size_t width) { return width < WIDE ? BLOCK : PANEL; }

/// Numbers per column: the rows that its panel reaches, the numbers that loops of LANES read behind them, and those that a tile
/// writes above the diagonal.
std::size_t room_of(std::size_t width) { return width + panel_of(width) + LANES + BLOCK; }

/// The largest column height of the factor of P; that of a part is not larger.
std::size_t width_of(const CompressedRows& P) {
    int lowest = 0, width = 1;
    for (int i = 0; i < static_cast<int>(P.size()); ++i) {
        for (int j : P[static_cast<std::size_t>(i)].column) lowest = std::max(lowest, j);
        width = std::max(width, lowest - i + 1);
    }
    return static_cast<std::size_t>(width);
}

}  // namespace

void Part::reach(const CompressedRows& P) {
    int lowest = 0;
    width_ = 1;
    for (std::size_t k = 0; k < count_; ++k) {
        for (int j : P[(*this)[k]].column) lowest = std::max(lowest, place_[static_cast<std::size_t>(j)]);
        end_[k] = std::max(lowest, static_cast<int>(k)) + 1;
        width_ = std::max(width_, static_cast<std::size_t>(end_[k]) - k);
    }
}

Factor::Factor(const CompressedRows& P, Scratch& scratch)
    : P_(P), least_(scratch.numbers(P.size())), inverse_(scratch.numbers(P.size())),
      room_(scratch.numbers((P.size() + BLOCK) * room_of(width_of(P)) + padding)) {}

bool Factor::make(const Part& part, Constants diagonal) {
    const std::size_t n = part.size(), panel = panel_of(part.width()), room = room_of(part.width());
    end_ = part.end();
    L_ = {room_.data(), room - 1};
    std::ranges::fill(room_.first((n + BLOCK) * room + padding), 0.0);
    fill(part, diagonal);
    for (std::size_t first = 0; first < n; first += panel) {
        const std::size_t last = std::min(first + panel, n);
        const Panel columns{L_, first, last, static_cast<std::size_t>(end_[last - 1])};
        if (sweeps.finish(columns, least_.data(), inverse_.data()) < last) return false;
        sweeps.update(columns);
    }
    return true;
}

/// Write the lower half of 2 P + diag.
void Factor::fill(const Part& part, Constants diagonal) {
    for (std::size_t k = 0; k < part.size(); ++k) {
        const auto [columns, values] = P_[part[k]];
        double* to = L_[k];
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const int row = part.place(static_cast<std::size_t>(columns[i]));
            if (row >= static_cast<int>(k)) to[row] = 2.0 * values[i];
        }
        to[k] += diagonal[k];
        least_[k] = std::max(ROUNDING * to[k], 0.0);
    }
}

}  // namespace counterleaf
