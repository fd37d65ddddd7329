#include "region.hpp"

#include <cmath>

#include "doubt.hpp"
#include "newton.hpp"
#include "proximal.hpp"

namespace counterleaf {
namespace {

constexpr int OUTSIDE = -1, NAMED = -2;
constexpr double NEGLIGIBLE = 1e-14;  // of the largest multiplier: rounding of a row that has let go

constexpr double ROUGH = 1e-11;                // of a bound: what rounding may take from it where nothing much cancels
constexpr double TINY = 1e-140, HUGE = 1e140;  // the squares of what lies between are numbers, too

double largest_of(Constants numbers) {
    double largest = 0.0;
    for (double one : numbers) largest = std::max(largest, std::fabs(one));
    return largest;
}

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
    const bool far = question_->method == Method::Flat && is_at_horizon(box, program, point);
    const Sum alone = scatter(box, program, point, change);
    if (question_->plain) {
        if (question_->method != Method::Curved) open_horizon(box, program);  // else no feature can run away
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

/// The variables of the problem: numbers first, then group by group.
///
/// A group is in if some row touches it, with the values that rows name and, of the others, the cheapest, which serves for all.
void Regions::choose_columns(const Path& path, const Box& box) {
    columns_.clear();
    hot_.clear();
    start_.clear();
    for (int row : path.row)
        for (int d : question_->row(row).columns) {
            if (slot_[d] != OUTSIDE || !box.can_move(d)) continue;
            const int g = question_->layout.group[d];
            if (g < 0) {
                slot_[d] = static_cast<int>(columns_.size());
                columns_.push_back(d);
                continue;
            }
            slot_[d] = NAMED;
            if (local_[g] == OUTSIDE) {
                local_[g] = static_cast<int>(hot_.size());
                hot_.push_back(g);
            }
        }
    numbers_ = columns_.size();
    if (hot_.empty()) return;
    numbers_ = padded(numbers_);
    columns_.resize(numbers_, OUTSIDE);
    for (std::size_t i = 0; i < hot_.size(); ++i) choose_values(i, box);
    start_.push_back(static_cast<int>(columns_.size()));
}

void Regions::choose_values(std::size_t i, const Box& box) {
    const Features& f = question_->features;
    const auto add = [&](int v) {
        slot_[v] = static_cast<int>(columns_.size());
        columns_.push_back(v);
    };
    int best = OUTSIDE;
    start_.push_back(static_cast<int>(columns_.size()));
    for (int v = question_->layout.first[hot_[i]]; v < question_->layout.last[hot_[i]]; ++v) {
        if (slot_[v] == NAMED) {
            add(v);
        } else if (box.upper(v) > 0.0) {
            const bool cheaper =
                best == OUTSIDE || f.slope_up[v] < f.slope_up[best] || (f.slope_up[v] == f.slope_up[best] && f.source[v] > 0.0);
            if (cheaper) best = v;
        }
    }
    if (best != OUTSIDE) add(best);
}

void Regions::release() {
    for (int d : columns_)
        if (d != OUTSIDE) slot_[d] = OUTSIDE;
    for (int g : hot_) local_[g] = OUTSIDE;
}

Program Regions::make_program(std::size_t paths, bool closed, Scratch& scratch) const {
    const std::size_t n = columns_.size(), wide = padded(n), heads = closed ? 0 : hot_.size();
    const auto line = [&] { return scratch.numbers(wide).data(); };
    Program program{.A = scratch.grid(heads + paths, wide),
                    .r = scratch.numbers(heads + paths),
                    .n = n,
                    .numbers = closed ? numbers_ : wide,
                    .equal = heads + question_->limits.equal,
                    .curves = {line(), line(), line(), line(), line(), line(), line(), line()},
                    .groups = {},
                    .give = scratch.numbers(heads + paths),
                    .noise = scratch.numbers(heads + paths),
                    .watch = watch_};
    std::fill_n(program.A.data, program.A.rows * wide, 0.0);
    if (!closed) return program;
    const Numbers scale = scratch.numbers(hot_.size()), home = scratch.numbers(wide);
    std::ranges::fill(home, 0.0);
    for (std::size_t i = 0; i < hot_.size(); ++i) scale[i] = question_->features.scale[columns_[start_[i]]];
    for (std::size_t j = numbers_; j < n; ++j) home[j] = question_->features.source[columns_[j]];
    program.groups = {start_, scale, home};
    return program;
}

/// A row per group: its variables add up to what they were, or to one more where the source's value is not among them.
void Regions::write_groups(const Program& program) const {
    for (std::size_t i = 0; i < hot_.size(); ++i) {
        program.r[i] = slot_[question_->own[hot_[i]]] < 0 ? 1.0 : 0.0;
        for (int j = start_[i]; j < start_[i + 1]; ++j) program.A[i][j] = 1.0 / question_->features.scale[columns_[j]];
    }
}

/// A d >= r: the groups' rows where they have any, then those of the path.
void Regions::write_rows(const Path& path, const Box& box, Constants slack, const Program& program) {
    const Features& f = question_->features;
    const std::size_t heads = program.m() - path.size();
    if (heads > 0) write_groups(program);
    std::ranges::fill(program.give.first(heads), 0.0);
    std::ranges::fill(program.noise.first(heads), 0.0);
    for (std::size_t t = 0; t < path.size(); ++t) {
        const double sign = path.sign[t];
        const Terms terms = question_->row(path.row[t]);
        double total = question_->offset(path.row[t]) + slack[t] - sign * at_source(path.row[t]);
        double size = std::fabs(total);
        bool stuck = true;
        double* a = program.A[heads + t];
        for (std::size_t k = 0; k < terms.size(); ++k) {
            const int d = terms.columns[k];
            if (slot_[d] >= 0) {
                a[slot_[d]] = sign * terms.weights[k] / f.scale[d];
                stuck = false;
            } else {
                const double fixed = terms.weights[k] * (box.lower(d) - f.source[d]);
                total -= sign * fixed;
                size += std::fabs(fixed);
            }
        }
        if (stuck && t < question_->users())
            total = -snapped(path.row[t], terms.exactly_at(box.lower()));
        else if (stuck && std::fabs(total) <= 1e-14 * size)
            total = 0.0;  // every variable of the row is fixed, on its face to rounding
        program.r[heads + t] = total;
        program.give[heads + t] = question_->give(path.row[t]);
        program.noise[heads + t] = static_cast<double>(terms.size() + 4) * ROUND * size + noise_[path.row[t]];
    }
}

/// Divide each row by its size, which goes to ``norm``.
void Regions::scale_rows(const Program& program, Numbers norm) const {
    for (std::size_t t = 0; t < program.m(); ++t) {
        double* a = program.A[t];
        double length = 0.0;
        if (question_->method != Method::Flat) length = std::sqrt(loops.square(a, program.A.columns));
        if (!(TINY < length && length < HUGE)) length = largest_of({a, program.A.columns});  // no square in between
        int exponent = 0;
        std::frexp(length, &exponent);
        norm[t] = length > 0.0 ? std::ldexp(1.0, exponent) : 1.0;  // a power of two, so that no digit is lost
        program.r[t] /= norm[t];
        program.give[t] /= norm[t];
        program.noise[t] /= norm[t];
        loops.divide(a, norm[t], program.A.columns);
    }
}

/// phi and the box of the variables, each scaled by its cost; padding cannot move.
void Regions::write_costs(const Box& box, const Program& program) const {
    const Features& f = question_->features;
    const Curves& c = program.curves;
    for (std::size_t j = 0; j < program.A.columns; ++j) {
        const int d = j < columns_.size() ? columns_[j] : OUTSIDE;
        if (d == OUTSIDE) {
            c.slope_up[j] = c.slope_down[j] = c.lower[j] = c.upper[j] = 0.0;
            c.curve_up[j] = c.curve_down[j] = c.ease_up[j] = c.ease_down[j] = 1.0;
            continue;
        }
        const double s = f.scale[d];
        Phi phi = scaled_[d];
        if (const int g = question_->layout.group[d]; g >= 0 && question_->method != Method::Flat) {
            if (program.groups.size() > 0) {
                phi.slope_up = (f.slope_up[d] - 0.5 * s * s) / s;
            } else {
                const double soft = question_->soft[g];
                phi.curve_up = phi.curve_down = soft / (s * s);
                phi.slope_up = phi.slope_down = phi.slope_up + (f.source[d] > 0.0 ? soft : -soft) / s;
            }
        }
        c.curve_up[j] = phi.curve_up, c.slope_up[j] = phi.slope_up;
        c.curve_down[j] = phi.curve_down, c.slope_down[j] = phi.slope_down;
        c.lower[j] = (box.lower(d) - f.source[d]) * s;
        c.upper[j] = (box.upper(d) - f.source[d]) * s;
        c.ease_up[j] = ease_of(c.curve_up[j]);
        c.ease_down[j] = ease_of(c.curve_down[j]);
    }
}

/// The dual simplex, from the basis of the state, then from none.
Status Regions::pivot(const Dual& dual, const Program& program, Numbers lam, Numbers point, Numbers ray,
                      Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    const std::size_t heads = hot_.size();
    const Basis basis{scratch.values<Basic>(program.m()), scratch.values<Seat>(program.n)};
    Status status = Status::Stuck;
    if (recall(dual, heads, basis)) status = simplex(program, basis, lam, point, ray, scratch);
    if (status == Status::Stuck) {
        basis.reset(program);
        status = simplex(program, basis, lam, point, ray, scratch);
    }
    if (status == Status::Converged) remember(dual, heads, basis);  // otherwise basis and seats no longer belong together
    return status;
}

/// The basis of a state in the columns and rows of its problem; false if it names one that is not there.
bool Regions::recall(const Dual& dual, std::size_t heads, Basis basis) const {
    for (std::size_t t = 0; t < basis.basic.size(); ++t) {
        const Basic known = dual.basis[t < heads ? rooms_ + hot_[t] : t - heads];
        int index = known.index;
        if (known.is_feature())
            index = slot_[index];
        else if (index >= static_cast<int>(rooms_))
            index = local_[index - rooms_];
        else
            index += static_cast<int>(heads);
        if (index < 0) return false;
        basis.basic[t] = {index, known.segment};
    }
    for (std::size_t j = 0; j < basis.seat.size(); ++j)
        basis.seat[j] = columns_[j] == OUTSIDE ? Seat::Kink : dual.seats[columns_[j]];
    return true;
}

void Regions::remember(const Dual& dual, std::size_t heads, Basis basis) const {
    for (std::size_t t = 0; t < basis.basic.size(); ++t) {
        const Basic found = basis.basic[t];
        const std::size_t row = found.index;
        int index = found.is_feature() ? columns_[row] : static_cast<int>(row < heads ? rooms_ + hot_[row] : row - heads);
        dual.basis[t < heads ? rooms_ + hot_[t] : t - heads] = {index, found.segment};
    }
    for (std::size_t j = 0; j < basis.seat.size(); ++j)
        if (columns_[j] != OUTSIDE) dual.seats[columns_[j]] = basis.seat[j];
}

/// The point as a change of every variable; returns what those outside of the problem cost.
Sum Regions::scatter(const Box& box, const Program& program, Constants point, Numbers change) const {
    const Features& f = question_->features;
    Sum alone{0.0, 0.0};
    const auto stay = [&](std::size_t d) {
        if (slot_[d] >= 0) return;
        change[d] = f.phi(d).respond(0.0, box.lower(d) - f.source[d], box.upper(d) - f.source[d]);
        alone.total += f.price(d, change[d]);
        alone.size += f.phi(d).size(change[d]);
    };
    if (calm_) {  // only what a split has narrowed may have left its source
        std::ranges::fill(change, 0.0);
        for (const Interval& moved : box.since(0))
            if (change[moved.variable] == 0.0) stay(moved.variable);
    } else if (question_->plain) {
        for (std::size_t d = 0; d < change.size(); ++d) stay(d);
    } else {
        scatter_outside(box, change);
    }
    for (std::size_t j = 0; j < columns_.size(); ++j) {
        const int d = columns_[j];
        if (d == OUTSIDE) continue;
        change[d] = point[j] / f.scale[d];
        if (point[j] == program.curves.lower[j])
            change[d] = box.lower(d) - f.source[d];
        else if (point[j] == program.curves.upper[j])
            change[d] = box.upper(d) - f.source[d];
    }
    return alone;
}

/// On a table: every variable outside of the problem at its own best.
void Regions::scatter_outside(const Box& box, Numbers change) const {
    const Features& f = question_->features;
    for (std::size_t d = 0; d < change.size(); ++d) {
        if (slot_[d] >= 0) continue;
        change[d] =
            question_->layout.group[d] >= 0 ? -f.source[d] : settle(*question_, d, 0.0, box.lower(d), box.upper(d)).change;
    }
    for (std::size_t g = 0; g < local_.size(); ++g)
        if (local_[g] == OUTSIDE) change[cheapest(*question_, g, box.upper())] += 1.0;
}

/// A bound that is only the horizon does not count as one.
void Regions::open_horizon(const Box& box, const Program& program) const {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
        const int d = columns_[j];
        if (d == OUTSIDE) continue;
        if (true_upper(*question_, box, d) == INF) program.curves.upper[j] = INF;
        if (true_lower(*question_, box, d) == -INF) program.curves.lower[j] = -INF;
    }
}

}  // namespace counterleaf
