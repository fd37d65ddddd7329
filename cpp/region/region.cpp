#include "region/region.hpp"

#include <cmath>

#include "bound/emptiness.hpp"
#include "separable/newton.hpp"
#include "separable/proximal.hpp"

namespace counterleaf {
namespace {

constexpr double NEGLIGIBLE = 1e-14;  // of the largest multiplier: rounding of a row that has let go
constexpr double ROUGH = 1e-11;       // of a bound: what rounding may take from it where nothing much cancels

/// Rounding is dropped from multipliers: a feature that is free and unbounded would turn any price into an infinite much.
void drop_rounding(Numbers lam) {
    const double largest = largest_of(lam);
    for (double& one : lam)
        if (std::fabs(one) <= NEGLIGIBLE * largest) one = 0.0;
}

}  // namespace

void Regions::begin(const Question& question, std::size_t rooms) {
    question_ = &question;
    rooms_ = rooms;
    const Features& f = question.features;
    at_source_.assign(question.tree.nodes.size() + question.users(), NONE);
    noise_.resize(at_source_.size());
    slot_.assign(f.width(), OUTSIDE);
    local_.assign(question.layout.groups(), OUTSIDE);
    calm_ = question.plain;
    for (std::size_t d = 0; d < f.width() && calm_; ++d)
        calm_ = f.lower[d] <= f.source[d] && f.source[d] <= f.upper[d] && f.slope_up[d] >= 0.0 && f.slope_down[d] <= 0.0 &&
                f.horizon[d] == 0.0;
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

/// A row of the user's that is met to rounding counts as met exactly.
double Regions::snapped(std::size_t row, double value) const {
    const double give = question_->give(row);
    const bool equal = row < question_->tree.nodes.size() + question_->limits.equal;
    return -give <= value && value <= (equal ? give : 0.0) ? 0.0 : value;
}

Constants Regions::at_sources(const Path& path, Scratch& scratch) {
    const Numbers known = scratch.numbers(path.size());
    for (std::size_t t = 0; t < path.size(); ++t) known[t] = at_source(path.row[t]);
    return known;
}

Raised Regions::raise(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    return counterleaf::raise(*question_, path, box, at_sources(path, scratch), multipliers, scratch);
}

Assured Regions::shrink(const Path& path, const Box& box, Numbers multipliers, Constants other, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    counterleaf::shrink(*question_, path, box, at_sources(path, scratch), multipliers, other, scratch);
    return prove(path, box, multipliers, scratch);
}

Assured Regions::prove(const Path& path, const Box& box, Numbers multipliers, Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const Numbers held = scratch.numbers(path.size());
    std::ranges::copy(multipliers, held.begin());
    const Assured proof = proved(*question_, path, box, at_sources(path, scratch), held, scratch);
    if (proof.sure && proof.error <= ROUGH * std::fabs(proof.value)) {
        std::ranges::copy(held, multipliers.begin());
        return proof;
    }
    return proved_closely(*question_, path, box, multipliers, scratch);
}

Bound Regions::solve(const Path& path, const Box& box, Constants slack, const Dual& dual, Numbers change, Scratch& scratch,
                     Watch& watch) {
    watch_ = &watch;
    choose_columns(path, box);
    const bool closed = question_->method == Method::Curved && !hot_.empty();
    Bound found = attempt(path, box, slack, dual, change, closed, scratch);
    if (closed && found.status == Status::Stuck) found = attempt(path, box, slack, dual, change, false, scratch);
    release();
    return found;
}

Bound Regions::attempt(const Path& path, const Box& box, Constants slack, const Dual& dual, Numbers change, bool closed,
                       Scratch& scratch) {
    const Scratch::Frame frame(scratch);
    const std::size_t heads = closed ? 0 : hot_.size();
    Program program = make_program(path.size(), closed, scratch);
    const std::size_t m = program.m();
    const Numbers norm = scratch.numbers(m), lam = scratch.numbers(m), ray = scratch.numbers(m);
    const Numbers point = scratch.numbers(program.A.columns);
    write_rows(path, box, slack, program);
    scale_rows(program, norm);
    write_costs(box, program);
    std::ranges::fill(point, 0.0);
    std::ranges::fill(lam.first(heads), 0.0);
    for (std::size_t t = 0; t < path.size(); ++t) lam[heads + t] = dual.multipliers[t] * norm[heads + t];
    Bound found{Status::Stuck, -INF};
    const auto is_empty = [&] {
        return found.status == Status::Infeasible && contradicts(path, box, ray.subspan(heads), norm.subspan(heads), scratch);
    };
    if (question_->method == Method::Curved) {
        found = newton(program, lam, point, ray, scratch);
        if (!closed && (found.status != Status::Converged || found.rough) && !is_empty()) {
            program.forgiving = false;
            std::ranges::fill(lam, 0.0);
            found = newton_finely(program, lam, point, ray, scratch);
        }
    }
    if (question_->method == Method::Mixed) found.status = proximal(program, lam, point, ray, scratch);
    if (question_->method == Method::Flat) {
        found.status = pivot(dual, program, lam, point, ray, scratch);
        if (found.status == Status::Infeasible && !is_empty()) {
            program.forgiving = false;
            found.status = pivot(dual, program, lam, point, ray, scratch);
        }
    }
    if (question_->method != Method::Flat && found.status == Status::Stuck && !closed &&
        find_point(program, ray, scratch) == Status::Infeasible)
        found.status = Status::Infeasible;
    if (found.status == Status::Infeasible) {
        for (std::size_t t = 0; t < path.size(); ++t) dual.multipliers[t] = ray[heads + t] / norm[heads + t];
        return {Status::Infeasible, INF};
    }
    drop_rounding(lam);
    const bool far = question_->method == Method::Flat && !calm_ && is_at_horizon(box, program, point);
    const Sum alone = scatter(box, program, point, change);
    if (question_->plain) {
        if (question_->method != Method::Curved && !calm_) open_horizon(box, program);  // else no feature can run away
        const Numbers held = scratch.numbers(m);
        std::ranges::copy(lam, held.begin());
        const Assured proof = assure(program, held, scratch);
        found.value = proof.value + alone.total - static_cast<double>(change.size() + 4) * ROUND * alone.size;
        found.sure = proof.sure;
        found.rough = found.rough || !(proof.error <= ROUGH * std::fabs(found.value));
        if (found.sure && !found.rough) std::ranges::copy(held, lam.begin());
    }
    for (std::size_t t = heads; t < m; ++t) dual.multipliers[t - heads] = lam[t] / norm[t];
    if (!question_->plain || found.rough || !found.sure) {
        const Assured proof = prove(path, box, dual.multipliers, scratch);
        found.value = proof.value, found.sure = proof.sure;
    }
    if (far && found.value > -INF && come_nearer(box, program, lam, point, ray, scratch)) scatter(box, program, point, change);
    return or_box(found, box, dual, scratch);
}

/// Whether the horizon ends the way of a variable.
bool Regions::is_at_horizon(const Box& box, const Program& program, Constants point) const {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
        const int d = columns_[j];
        if (d == OUTSIDE) continue;
        if (true_upper(*question_, box, d) == INF && point[j] == program.curves.upper[j]) return true;
        if (true_lower(*question_, box, d) == -INF && point[j] == program.curves.lower[j]) return true;
    }
    return false;
}

/// Of several best points one that is not at the horizon: the best if moving away earned a little less.
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

/// Whether a Farkas vector of a scaled problem is one for sure.
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

/// The bound of the box on its own, where that is no worse than what the multipliers prove.
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
