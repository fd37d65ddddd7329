#include "region/region.hpp"

#include <cmath>

#include "bound/emptiness.hpp"
#include "separable/newton.hpp"
#include "separable/proximal.hpp"

namespace counterleaf {
namespace {

constexpr double NEGLIGIBLE = 1e-14;  // relative to the largest multiplier: rounding of a row that is no longer tight
constexpr double ROUGH = 1e-11;       // relative to a bound: the loss through rounding if little cancels

/// Set negligible multipliers to 0: on an unbounded free feature any price would make the bound minus infinity.
void drop_rounding(Numbers lam) {
    const double largest = largest_of(lam);
    for (double& one : lam)
        if (std::fabs(one) <= NEGLIGIBLE * largest) one = 0.0;
}

}  // namespace

void Regions::begin(const Question& question, std::size_t max_rows) {
    question_ = &question;
    max_rows_ = max_rows;
    const Features& f = question.features;
    at_source_.assign(question.user_row(question.user_rows()), NONE);
    noise_.resize(at_source_.size());
    slot_.assign(f.width(), OUTSIDE);
    group_slot_.assign(question.layout.groups(), OUTSIDE);
    source_is_best_ = question.plain;
    for (std::size_t d = 0; d < f.width() && source_is_best_; ++d)
        source_is_best_ = f.lower[d] <= f.source[d] && f.source[d] <= f.upper[d] && f.slope_up[d] >= 0.0 &&
                          f.slope_down[d] <= 0.0 && f.horizon[d] == 0.0;
    if (question.scaling != 0 && question.scaling == scaling_) return;
    scaling_ = question.scaling;
    scaled_.resize(f.width());
    for (std::size_t d = 0; d < f.width(); ++d) {
        const double s = f.scale[d];
        scaled_[d] = {f.curve_up[d] / (s * s), f.slope_up[d] / s, f.curve_down[d] / (s * s), f.slope_down[d] / s};
    }
}

double Regions::at_source(std::size_t row) {
    double& known = at_source_[row];
    if (std::isnan(known)) {
        const Terms terms = question_->row(row);
        const auto [total, size] = terms.exact_sum(question_->features.source);
        known = snapped(row, total);
        noise_[row] = terms.exact_to(size);
    }
    return known;
}

/// The value of a row, where a user's row that is met up to rounding counts as met exactly.
double Regions::snapped(std::size_t row, double value) const {
    const double tolerance = question_->tolerance(row);
    const bool equal = row < question_->user_row(question_->limits.equal);
    return -tolerance <= value && value <= (equal ? tolerance : 0.0) ? 0.0 : value;
}

Constants Regions::at_sources(const Path& path, Scratch& scratch) {
    const Numbers known = scratch.numbers(path.size());
    for (std::size_t t = 0; t < path.size(); ++t) known[t] = at_source(path.row[t]);
    return known;
}

AscentResult Regions::improve(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    return improve_multipliers(*question_, path, box, at_sources(path, scratch), multipliers, scratch);
}

ProvedBound Regions::shrink(const Path& path, const Box& box, Numbers multipliers, Constants other, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    shrink_multipliers(*question_, path, box, at_sources(path, scratch), multipliers, other, scratch);
    return prove(path, box, multipliers, scratch);
}

ProvedBound Regions::prove(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Numbers trial = scratch.numbers(path.size());
    std::ranges::copy(multipliers, trial.begin());
    const ProvedBound proof = prove_bound(*question_, path, box, at_sources(path, scratch), trial, scratch);
    if (proof.sure && proof.error <= ROUGH * std::fabs(proof.value)) {
        std::ranges::copy(trial, multipliers.begin());
        return proof;
    }
    return prove_bound_closely(*question_, path, box, multipliers, scratch);
}

Bound Regions::solve(const Path& path, const Box& box, Constants slack, const Dual& dual, Numbers change, Scratch& scratch,
                     StopCheck& stop_check) {
    stop_check_ = &stop_check;
    choose_columns(path, box);
    const bool closed = question_->method == Method::Curved && !groups_.empty();
    Bound found = attempt(path, box, slack, dual, change, closed, scratch);
    if (closed && found.status == Status::Stuck) found = attempt(path, box, slack, dual, change, false, scratch);
    release();
    return found;
}

Bound Regions::attempt(const Path& path, const Box& box, Constants slack, const Dual& dual, Numbers change, bool closed,
                       Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    Attempt attempt = prepare(path, box, slack, dual, closed, scratch);
    const auto& [program, group_rows, is_closed, norm, lam, ray, point] = attempt;
    Bound found = run_solver(attempt, path, box, dual, scratch);
    if (found.status == Status::Infeasible) {
        for (std::size_t t = 0; t < path.size(); ++t) dual.multipliers[t] = ray[group_rows + t] / norm[group_rows + t];
        return {Status::Infeasible, INF};
    }
    drop_rounding(lam);
    const bool far = question_->method == Method::Flat && !source_is_best_ && is_at_horizon(box, program, point);
    const Sum alone = scatter(box, program, point, change);
    if (question_->plain) prove_plain(attempt, box, alone, found, scratch);
    for (std::size_t t = 0; t < path.size(); ++t) dual.multipliers[t] = lam[group_rows + t] / norm[group_rows + t];
    if (!question_->plain || found.rough || !found.sure) {
        const ProvedBound proof = prove(path, box, dual.multipliers, scratch);
        found.value = proof.value, found.sure = proof.sure;
    }
    if (far && found.value > -INF && come_nearer(box, program, lam, point, ray, scratch)) scatter(box, program, point, change);
    return or_box(found, box, dual, scratch);
}

/// Write the problem, and the multipliers of the warm start in its units.
Regions::Attempt Regions::prepare(const Path& path, const Box& box, Constants slack, const Dual& dual, bool closed,
                                  Scratch& scratch) {
    const Program program = make_program(path.size(), closed, scratch);
    const std::size_t m = program.m(), group_rows = m - path.size();
    const Attempt out{program,
                      group_rows,
                      closed,
                      scratch.numbers(m),
                      scratch.numbers(m),
                      scratch.numbers(m),
                      scratch.numbers(program.A.columns)};
    write_rows(path, box, slack, program);
    scale_rows(program, out.norm);
    write_costs(box, program);
    std::ranges::fill(out.point, 0.0);
    std::ranges::fill(out.lam.first(group_rows), 0.0);
    for (std::size_t t = 0; t < path.size(); ++t) out.lam[group_rows + t] = dual.multipliers[t] * out.norm[group_rows + t];
    return out;
}

/// Solve by the method of the question. A numerically uncertain result is solved again with finer tolerances.
Bound Regions::run_solver(Attempt& attempt, const Path& path, const Box& box, const Dual& dual, Scratch& scratch) {
    auto& [program, group_rows, closed, norm, lam, ray, point] = attempt;
    Bound found{Status::Stuck, -INF};
    const auto is_surely_infeasible = [&, rays = ray.subspan(group_rows), norms = norm.subspan(group_rows)] {
        return found.status == Status::Infeasible && contradicts(path, box, rays, norms, scratch);
    };
    if (question_->method == Method::Curved) {
        found = newton(program, lam, point, ray, scratch);
        if (!closed && (found.status != Status::Converged || found.rough) && !is_surely_infeasible()) {
            program.forgiving = false;
            std::ranges::fill(lam, 0.0);
            found = newton_finely(program, lam, point, ray, scratch);
        }
    }
    if (question_->method == Method::Mixed) found.status = proximal(program, lam, point, ray, scratch);
    if (question_->method == Method::Flat) {
        found.status = pivot(dual, program, lam, point, ray, scratch);
        if (found.status == Status::Infeasible && !is_surely_infeasible()) {
            program.forgiving = false;
            found.status = pivot(dual, program, lam, point, ray, scratch);
        }
    }
    if (question_->method != Method::Flat && found.status == Status::Stuck && !closed &&
        find_point(program, ray, scratch) == Status::Infeasible)
        found.status = Status::Infeasible;
    return found;
}

/// Prove the bound of a plain question in the units of the problem, which is faster than ``prove``; ``alone`` is the cost of
/// the variables outside of the problem.
void Regions::prove_plain(const Attempt& attempt, const Box& box, const Sum& alone, Bound& found, Scratch& scratch) const {
    if (question_->method != Method::Curved && !source_is_best_)
        open_horizon(box, attempt.program);  // otherwise no feature can run away
    const Numbers trial = scratch.numbers(attempt.lam.size());
    std::ranges::copy(attempt.lam, trial.begin());
    const ProvedBound proof = proved_value(attempt.program, trial, scratch);
    const auto terms = static_cast<double>(question_->features.width() + 4);
    found.value = proof.value + alone.total - terms * ROUND * alone.size;
    found.sure = proof.sure;
    found.rough = found.rough || !(proof.error <= ROUGH * std::fabs(found.value));
    if (found.sure && !found.rough) std::ranges::copy(trial, attempt.lam.begin());
}

/// Whether a variable is at its horizon.
bool Regions::is_at_horizon(const Box& box, const Program& program, Constants point) const {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
        const int d = columns_[j];
        if (d == OUTSIDE) continue;
        if (true_upper(*question_, box, d) == INF && point[j] == program.curves.upper[j]) return true;
        if (true_lower(*question_, box, d) == -INF && point[j] == program.curves.lower[j]) return true;
    }
    return false;
}

/// Among several best points choose one that is not at the horizon: the best one if moving away gained slightly less.
bool Regions::come_nearer(const Box& box, const Program& program, Numbers lam, Numbers point, Numbers ray,
                          Scratch& scratch) const {
    constexpr double LESS = 1.0 - 1e-6;
    const Scratch::Frame frame(scratch);
    const Curves& c = program.curves;
    write_costs(box, program);
    for (std::size_t j = 0; j < program.n; ++j) {
        if (c.slope_up[j] < 0.0) c.slope_up[j] *= LESS;
        if (c.slope_down[j] > 0.0) c.slope_down[j] *= LESS;
        c.slope_down[j] = std::min(c.slope_down[j], c.slope_up[j]);
    }
    const Basis basis{scratch.values<Basic>(program.m()), scratch.values<Seat>(program.n)};
    basis.reset(program);
    const Numbers nearer = scratch.numbers(point.size());
    std::ranges::fill(nearer, 0.0);
    if (simplex(program, basis, lam, nearer, ray, scratch) != Status::Converged) return false;
    if (is_at_horizon(box, program, nearer)) return false;
    std::ranges::copy(nearer, point.begin());
    return true;
}

/// Whether a Farkas vector of the scaled problem certainly proves the region empty.
bool Regions::contradicts(const Path& path, const Box& box, Constants ray, Constants norm, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Numbers lam = scratch.numbers(path.size());
    for (std::size_t t = 0; t < path.size(); ++t) lam[t] = ray[t] / norm[t];
    return is_surely_empty(path, box, lam, scratch);
}

bool Regions::is_surely_empty(const Path& path, const Box& box, Numbers lam, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    return is_empty(*question_, path, box, at_sources(path, scratch), lam, scratch) || are_opposed(*question_, path, lam);
}

/// Use the bound of the box without rows if it is at least as good as that of the multipliers.
Bound Regions::or_box(Bound found, const Box& box, const Dual& dual, Scratch& scratch) const {
    const bool none = std::ranges::all_of(dual.multipliers, [](double one) { return one == 0.0; });
    if (!none && question_->plain && found.status == Status::Converged && found.sure && found.value > 0.0) return found;
    const Scratch::Frame frame(scratch);
    const double alone = box_bound(*question_, box, scratch.numbers(question_->features.width()));
    if (!none && alone < found.value) return found;
    std::ranges::fill(dual.multipliers, 0.0);
    return {found.status, alone};
}

}  // namespace counterleaf
