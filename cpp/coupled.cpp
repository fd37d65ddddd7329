#include "coupled.hpp"

#include <cmath>

namespace counterleaf {
namespace {

constexpr double PULL = 1e-7;  // towards the source, where some changes cost nothing: of several best rows, the least change
constexpr double FAR = 1e6;    // in units of the cost: a feature that moved further without meeting a bound runs away

}  // namespace

void CoupledRegions::begin(const Question& question) {
    question_ = &question;
    const Features& f = question.features;
    const std::vector<int>& order = question.coupling->order;
    place_.resize(order.size());
    pull_.assign(order.size(), 0.0);
    double most = 0.0;
    for (double s : f.scale) most = std::max(most, 1.0 / (s * s));
    for (std::size_t j = 0; j < order.size(); ++j) {
        const double s = f.scale[order[j]];
        place_[order[j]] = static_cast<int>(j);
        // features whose scales differ by more than 30 are pulled less unevenly than their units say: the factor must exist
        if (question.coupling->theta == 0.0) pull_[j] = std::max(PULL / (s * s) / most, 1e-3 * PULL);
    }
    runs_ = std::ranges::any_of(f.horizon, [](double side) { return side != 0.0; });
}

QuadraticBound CoupledRegions::solve(const Path& path, const Box& box, Constants slack, const Levels& levels,
                                     const CoupledDual& dual, Regions& regions, Scratch& scratch, Watch& watch) const {
    const Scratch::Frame frame(scratch);
    const Features& f = question_->features;
    const std::vector<int>& order = question_->coupling->order;
    const std::size_t m = path.size(), n = order.size();
    const Numbers norm = scratch.numbers(m);
    const QuadraticProgram program = gather(path, box, slack, norm, regions, scratch);
    const QuadraticState state{scratch.values<Piece>(n), scratch.numbers(m), scratch.numbers(n)};
    const QuadraticProof proof{scratch.numbers(m), scratch.numbers(n)};
    for (std::size_t j = 0; j < n; ++j) {
        state.piece[j] = dual.pieces[order[j]];
        state.z[j] = dual.change[order[j]] * f.scale[order[j]];
    }
    for (std::size_t t = 0; t < m; ++t) state.lam[t] = dual.multipliers[t] * norm[t];
    QuadraticBound found = solve_quadratic(program, levels.cut, runs_, state, proof, scratch, [&] { return watch.stop(); });
    if (found.status == QuadraticStatus::Infeasible) {
        for (std::size_t t = 0; t < m; ++t) dual.multipliers[t] = state.lam[t] / norm[t];
        return found;
    }
    scatter(box, program, state, dual);
    if (runs_ && runs_away(dual.change, found.status == QuadraticStatus::Stuck)) found.value = -INF;
    if (found.value < levels.known) return {found.status, levels.known};
    for (std::size_t t = 0; t < m; ++t) dual.multipliers[t] = proof.lam[t] / norm[t];
    for (std::size_t j = 0; j < n; ++j) dual.tangent[order[j]] = proof.y[j] / f.scale[order[j]];
    return found;
}

/// Rows of unit length over scaled features.
QuadraticProgram CoupledRegions::gather(const Path& path, const Box& box, Constants slack, Numbers norm, Regions& regions,
                                        Scratch& scratch) const {
    const Features& f = question_->features;
    const Coupling& coupling = *question_->coupling;
    const std::size_t m = path.size(), n = coupling.order.size();
    std::size_t entries = 0;
    for (int row : path.row) entries += question_->row(row).size();
    const Places start = scratch.places(m + 1), column = scratch.places(entries);
    const Numbers value = scratch.numbers(entries), r = scratch.numbers(m);
    std::size_t at = 0;
    start[0] = 0;
    for (std::size_t t = 0; t < m; ++t) {
        const Terms terms = question_->row(path.row[t]);
        double length = 0.0;
        for (std::size_t k = 0; k < terms.size(); ++k) {
            const int d = terms.columns[k];
            column[at + k] = place_[d];
            value[at + k] = path.sign[t] * terms.weights[k] / f.scale[d];
            length += value[at + k] * value[at + k];
        }
        norm[t] = length > 0.0 ? std::sqrt(length) : 1.0;
        r[t] = (question_->offset(path.row[t]) + slack[t] - path.sign[t] * regions.at_source(path.row[t])) / norm[t];
        for (std::size_t k = 0; k < terms.size(); ++k) value[at + k] /= norm[t];
        at += terms.size();
        start[t + 1] = static_cast<int>(at);
    }
    const Numbers curve_up = scratch.numbers(n), slope_up = scratch.numbers(n), curve_down = scratch.numbers(n);
    const Numbers slope_down = scratch.numbers(n), lower = scratch.numbers(n), upper = scratch.numbers(n);
    const Numbers horizon = scratch.numbers(n);
    for (std::size_t j = 0; j < n; ++j) {
        const int d = coupling.order[j];
        const double s = f.scale[d];
        curve_up[j] = f.curve_up[d] / (s * s), slope_up[j] = f.slope_up[d] / s;
        curve_down[j] = f.curve_down[d] / (s * s), slope_down[j] = f.slope_down[d] / s;
        lower[j] = (box.lower(d) - f.source[d]) * s, upper[j] = (box.upper(d) - f.source[d]) * s;
        const bool ends = f.horizon[d] > 0.0 ? box.upper(d) == f.upper[d] : box.lower(d) == f.lower[d];
        horizon[j] = ends ? f.horizon[d] : 0.0;
    }
    const Sparse& P = coupling.scaled;
    return {.rows = {start, column, value},
            .r = r,
            .equal = question_->limits.equal,
            .P = {P.start, P.columns, P.values},
            .theta = coupling.theta,
            .curve_up = curve_up,
            .slope_up = slope_up,
            .curve_down = curve_down,
            .slope_down = slope_down,
            .lower = lower,
            .upper = upper,
            .pull = pull_,
            .horizon = horizon};
}

/// The pieces and the point, ends of the box bit for bit.
void CoupledRegions::scatter(const Box& box, const QuadraticProgram& program, const QuadraticState& found,
                             const CoupledDual& dual) const {
    const Features& f = question_->features;
    const std::vector<int>& order = question_->coupling->order;
    for (std::size_t j = 0; j < order.size(); ++j) {
        const int d = order[j];
        dual.pieces[d] = found.piece[j];
        dual.change[d] = found.z[j] / f.scale[d];
        if (found.z[j] == program.lower[j])
            dual.change[d] = box.lower(d) - f.source[d];
        else if (found.z[j] == program.upper[j])
            dual.change[d] = box.upper(d) - f.source[d];
    }
}

/// Whether only the horizon, or the pull to the source, stops a feature that earns by moving; it is put on the horizon.
bool CoupledRegions::runs_away(Numbers change, bool unsolved) const {
    const Features& f = question_->features;
    for (std::size_t d = 0; d < change.size(); ++d) {
        const double way = f.horizon[d];
        if (way == 0.0) continue;
        const double end = (way > 0.0 ? f.upper[d] : f.lower[d]) - f.source[d];
        if (way * (change[d] - end) >= 0.0 || (unsolved && way * change[d] * f.scale[d] > FAR)) {
            change[d] = end;
            return true;
        }
    }
    return false;
}

}  // namespace counterleaf
