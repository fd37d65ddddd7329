#include "region/coupled_region.hpp"

#include <cmath>

#include "bound/tangent.hpp"

namespace counterleaf {
namespace {

constexpr double PULL = 1e-7;  // towards the source, where some changes are free: it chooses the smallest change
constexpr double FAR = 1e6;    // in units of the cost: a feature that moved further without reaching a bound runs away

/// The largest power of two up to a positive number; scaling by it is exact.
double power_up_to(double number) { return std::ldexp(1.0, std::ilogb(number)); }

}  // namespace

void CoupledRegions::begin(const Question& question) {
    question_ = &question;
    const Features& f = question.features;
    const Coupling& coupling = *question.coupling;
    const std::vector<int>& order = coupling.order;
    place_.resize(order.size());
    pull_.assign(order.size(), 0.0);
    tangent_curve_.resize(order.size());
    scale_.resize(order.size());
    for (std::size_t d = 0; d < order.size(); ++d) scale_[d] = power_up_to(f.scale[d]);
    double most = 0.0;
    for (std::size_t d = 0; d < order.size(); ++d)
        if (question.layout.is_number(d)) most = std::max(most, 1.0 / (scale_[d] * scale_[d]));
    for (std::size_t j = 0; j < order.size(); ++j) {
        const int d = order[j];
        const double s = scale_[d];
        place_[d] = static_cast<int>(j);
        tangent_curve_[j] = coupling.tangent_curve[d] / (s * s);
        // where scales differ by a factor of more than 30, the pull is more even than the units, so that the factor exists
        if (coupling.theta == 0.0 && question.layout.is_number(d)) pull_[j] = std::max(PULL / (s * s) / most, 1e-3 * PULL);
    }
    runs_ = std::ranges::any_of(f.horizon, [](double side) { return side != 0.0; });
}

QuadraticBound CoupledRegions::solve(const Path& path, const Box& box, Constants slack, const Levels& levels,
                                     const CoupledDual& dual, Regions& regions, Scratch& scratch, StopCheck& stop_check) const {
    const Scratch::Frame frame(scratch);
    const std::vector<int>& order = question_->coupling->order;
    const Layered rows = choose_groups(path, box, scratch);
    const std::size_t group_rows = rows.group_rows.size(), m = group_rows + path.size(), n = order.size();
    const QuadraticProgram program = write_program(path, box, slack, rows, regions, scratch);
    const QuadraticState state{scratch.values<Piece>(n), scratch.numbers(m), scratch.numbers(n)};
    const QuadraticProof proof{scratch.numbers(m), scratch.numbers(n)};
    for (std::size_t j = 0; j < n; ++j) {
        state.piece[j] = program.can_move(j) ? dual.pieces[order[j]] : Piece::Low;
        state.z[j] = dual.change[order[j]] * scale_[order[j]];
    }
    std::ranges::fill(state.lam.first(group_rows), 0.0);
    for (std::size_t t = 0; t < path.size(); ++t) state.lam[group_rows + t] = dual.multipliers[t] * rows.norm[group_rows + t];
    QuadraticBound found =
        solve_quadratic(program, levels.limit, runs_, state, proof, scratch, [&] { return stop_check.is_due(); });
    const auto in_table_units = [&](Constants lam, Numbers to) {
        for (std::size_t t = 0; t < path.size(); ++t) to[t] = lam[group_rows + t] / rows.norm[group_rows + t];
    };
    if (found.status == QuadraticStatus::Infeasible) {
        in_table_units(state.lam, dual.multipliers);
        return found;
    }
    scatter(box, program, state, dual);
    const Numbers lam = scratch.numbers(path.size()), y = scratch.numbers(n);
    in_table_units(proof.lam, lam);
    for (std::size_t j = 0; j < n; ++j) y[order[j]] = tangent_curve_[j] > 0.0 ? proof.y[j] / scale_[order[j]] : 0.0;
    const ProvedBound proof_of_all = prove(path, box, lam, y, regions, scratch);
    found.value = proof_of_all.value, found.sure = proof_of_all.sure;
    if (runs_ && runs_away(dual.change, found.status == QuadraticStatus::Stuck)) found.value = -INF;
    if (found.value < levels.known) return {found.status, levels.known, true};
    std::ranges::copy(lam, dual.multipliers.begin());
    std::ranges::copy(y, dual.tangent.begin());
    return found;
}

ProvedBound CoupledRegions::prove(const Path& path, const Box& box, Numbers lam, Constants tangent, Regions& regions,
                                  Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    return prove_bound_by_tangent(*question_, path, box, regions.at_sources(path, scratch), lam, tangent, scratch);
}

/// Find the groups that a row of the path contains and that have more than one value left.
CoupledRegions::Layered CoupledRegions::choose_groups(const Path& path, const Box& box, Scratch& scratch) const {
    const Layout& layout = question_->layout;
    const Places group_rows = scratch.places(layout.groups());
    std::size_t count = 0;
    for (std::size_t i = 0; i < path.size() && layout.groups() > 0; ++i)
        for (int d : question_->row(path.row[i]).columns) {
            const int g = layout.group[d];
            if (g < 0 || !box.can_move(d) || std::ranges::count(group_rows.first(count), g) > 0) continue;
            group_rows[count++] = g;
        }
    return {group_rows.first(count), scratch.numbers(count + path.size())};
}

/// Write rows of about unit length over scaled variables.
QuadraticProgram CoupledRegions::write_program(const Path& path, const Box& box, Constants slack, const Layered& rows,
                                               Regions& regions, Scratch& scratch) const {
    const Coupling& coupling = *question_->coupling;
    const Layout& layout = question_->layout;
    const std::size_t group_rows = rows.group_rows.size(), m = group_rows + path.size();
    std::size_t entries = 0;
    for (int g : rows.group_rows) entries += layout.last[g] - layout.first[g];
    for (int row : path.row) entries += question_->row(row).size();
    const Places start = scratch.places(m + 1), column = scratch.places(entries);
    const Numbers value = scratch.numbers(entries), r = scratch.numbers(m);
    std::size_t at = write_group_rows(rows, start, column, value, r);
    for (std::size_t t = 0; t < path.size(); ++t) {
        const Terms terms = question_->row(path.row[t]);
        double length = 0.0;
        for (std::size_t k = 0; k < terms.size(); ++k) {
            const int d = terms.columns[k];
            column[at + k] = place_[d];
            value[at + k] = path.sign[t] * terms.weights[k] / scale_[d];
            length += value[at + k] * value[at + k];
        }
        double& norm = rows.norm[group_rows + t];
        norm = length > 0.0 ? power_up_to(std::sqrt(length)) : 1.0;
        r[group_rows + t] = missing(path, box, t, slack[t], regions) / norm;
        for (std::size_t k = 0; k < terms.size(); ++k) value[at + k] /= norm;
        at += terms.size();
        start[group_rows + t + 1] = static_cast<int>(at);
    }
    const Columns columns = write_columns(box, rows.group_rows, scratch);
    const Sparse& P = coupling.scaled;
    return {.rows = {start, column, value},
            .r = r,
            .equal = group_rows + question_->limits.equal,
            .P = {P.start, P.columns, P.values},
            .tangent_curve = tangent_curve_,
            .nearly_singular = coupling.theta == 0.0,
            .curve_up = columns.curve_up,
            .slope_up = columns.slope_up,
            .curve_down = columns.curve_down,
            .slope_down = columns.slope_down,
            .lower = columns.lower,
            .upper = columns.upper,
            .pull = pull_,
            .horizon = columns.horizon};
}

/// Write one row per group, whose variables keep their sum. Returns the number of entries.
std::size_t CoupledRegions::write_group_rows(const Layered& rows, Places start, Places column, Numbers value, Numbers r) const {
    const Layout& layout = question_->layout;
    std::size_t at = 0;
    start[0] = 0;
    for (std::size_t i = 0; i < rows.group_rows.size(); ++i) {
        const int g = rows.group_rows[i];
        const double s = scale_[layout.first[g]];  // equal for all of its variables
        rows.norm[i] = power_up_to(std::sqrt(static_cast<double>(layout.last[g] - layout.first[g]))) / s;
        r[i] = 0.0;
        for (int v = layout.first[g]; v < layout.last[g]; ++v, ++at) column[at] = place_[v], value[at] = 1.0 / s / rows.norm[i];
        start[i + 1] = static_cast<int>(at);
    }
    return at;
}

/// Write the scaled costs and the box of every variable; groups without a row stay at their cheapest value.
CoupledRegions::Columns CoupledRegions::write_columns(const Box& box, Places group_rows, Scratch& scratch) const {
    const Features& f = question_->features;
    const Layout& layout = question_->layout;
    const std::size_t n = question_->coupling->order.size();
    const auto line = [&] { return scratch.numbers(n); };
    const Columns c{line(), line(), line(), line(), line(), line(), line()};
    for (std::size_t j = 0; j < n; ++j) {
        const int d = question_->coupling->order[j], g = layout.group[d];
        const double s = scale_[d];
        Phi phi = f.phi(d);
        if (g >= 0) {
            const double soft = question_->soft[g];
            phi.curve_up = phi.curve_down = soft;
            phi.slope_up = phi.slope_down = phi.slope_up + (f.source[d] > 0.0 ? soft : -soft);
        }
        c.curve_up[j] = phi.curve_up / (s * s), c.slope_up[j] = phi.slope_up / s;
        c.curve_down[j] = phi.curve_down / (s * s), c.slope_down[j] = phi.slope_down / s;
        c.lower[j] = (box.lower(d) - f.source[d]) * s, c.upper[j] = (box.upper(d) - f.source[d]) * s;
        const bool ends = f.horizon[d] > 0.0 ? box.upper(d) == f.upper[d] : box.lower(d) == f.lower[d];
        c.horizon[j] = ends ? f.horizon[d] : 0.0;
    }
    for (std::size_t g = 0; g < layout.groups(); ++g) {
        if (std::ranges::count(group_rows, static_cast<int>(g)) > 0) continue;
        const int best = cheapest(*question_, g, box.upper());
        for (int v = layout.first[g]; v < layout.last[g]; ++v)
            c.lower[place_[v]] = c.upper[place_[v]] = ((v == best ? 1.0 : 0.0) - f.source[v]) * scale_[v];
    }
    return c;
}

/// The right-hand side of row t of a path; 0 beyond its fixed variables if they lie on its face, up to rounding.
double CoupledRegions::missing(const Path& path, const Box& box, std::size_t t, double slack, Regions& regions) const {
    const Features& f = question_->features;
    const Terms terms = question_->row(path.row[t]);
    const double r = question_->offset(path.row[t]) - path.sign[t] * regions.at_source(path.row[t]);
    double fixed = 0.0;
    for (int d : terms.columns)
        if (box.can_move(d)) return r + slack;
    for (std::size_t k = 0; k < terms.size(); ++k)
        fixed += path.sign[t] * terms.weights[k] * (box.lower(terms.columns[k]) - f.source[terms.columns[k]]);
    const double noise =
        t < question_->user_rows() ? question_->tolerance(path.row[t]) : 1e-14 * (std::fabs(r) + std::fabs(fixed));
    return std::fabs(fixed - r) <= noise ? fixed + slack : r + slack;
}

/// Write the pieces and the point back; bounds of the box are reached bit for bit.
void CoupledRegions::scatter(const Box& box, const QuadraticProgram& program, const QuadraticState& found,
                             const CoupledDual& dual) const {
    const Features& f = question_->features;
    const std::vector<int>& order = question_->coupling->order;
    for (std::size_t j = 0; j < order.size(); ++j) {
        const int d = order[j];
        dual.pieces[d] = found.piece[j];
        dual.change[d] = found.z[j] / scale_[d];
        if (!program.can_move(j) && box.can_move(d))  // a value of a group without a row
            dual.change[d] = std::round(dual.change[d]);
        else if (found.z[j] == program.lower[j])
            dual.change[d] = box.lower(d) - f.source[d];
        else if (found.z[j] == program.upper[j])
            dual.change[d] = box.upper(d) - f.source[d];
    }
}

/// Whether only the horizon, or the pull to the source, stops a feature whose cost decreases; it is moved to the horizon.
bool CoupledRegions::runs_away(Numbers change, bool unsolved) const {
    const Features& f = question_->features;
    for (std::size_t d = 0; d < change.size(); ++d) {
        const double way = f.horizon[d];
        if (way == 0.0) continue;
        const double end = (way > 0.0 ? f.upper[d] : f.lower[d]) - f.source[d];
        if (way * (change[d] - end) >= 0.0 || (unsolved && way * change[d] * scale_[d] > FAR)) {
            change[d] = end;
            return true;
        }
    }
    return false;
}

}  // namespace counterleaf
