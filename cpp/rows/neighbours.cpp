#include "rows/neighbours.hpp"

#include <cmath>

#include "rows/realise.hpp"
#include "rows/routing.hpp"
#include "rows/row_cost.hpp"

namespace counterleaf {
namespace {

constexpr int TRIES = 400;
constexpr int FURTHEST = 8;  // in units in the last place

/// A fixed pseudo-random sequence (Knuth's multiplier).
class Sequence {
public:
    /// The next whole number from -most to most.
    int next(int most) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(2 * most + 1)) - most;
    }

private:
    std::uint64_t state_ = 1;
};

/// x moved by some units in the last place, of float32 for a narrow model.
double nudged(double x, int by, bool narrow) {
    if (!narrow) return x + by * (std::nextafter(std::fabs(x), INF) - std::fabs(x));
    const float single = static_cast<float>(x), size = std::fabs(single);
    return static_cast<double>(single + static_cast<float>(by) * (std::nextafter(size, HUGE_VALF) - size));
}

}  // namespace

bool find_neighbour(const Question& question, const Path& path, const Box& box, Constants centre, std::vector<double>& x) {
    const Features& f = question.features;
    std::vector<int> free;
    for (std::size_t d = 0; d < centre.size(); ++d) {
        const bool whole = !question.layout.is_number(d) || !question.layout.step[d].is_free();
        if (!whole && centre[d] != f.source[d] && box.lower(d) < centre[d] && centre[d] < box.upper(d))
            free.push_back(static_cast<int>(d));
    }
    if (free.empty()) return false;
    std::vector<double> row(centre.begin(), centre.end());
    Sequence sequence;
    double least = INF;
    for (int attempt = 0; attempt < TRIES; ++attempt) {
        const int most = 1 + attempt * FURTHEST / TRIES;
        for (int d : free) {
            const double to = nudged(centre[d], sequence.next(most), question.tree.narrow);
            row[d] = std::min(std::max(to, box.lower(d)), box.upper(d));
        }
        const double cost = cost_of(question, row);
        if (!(cost < least) || !is_routed(question, row, path) || !obeys(question, row)) continue;
        least = cost;
        x = row;
    }
    return least < INF;
}

}  // namespace counterleaf
