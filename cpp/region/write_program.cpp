// The part of ``Regions`` that writes a region as a small scaled problem, and its solution as a change.
#include <cmath>

#include "region/region.hpp"

namespace counterleaf {
namespace {

constexpr double TINY = 1e-140, HUGE = 1e140;  // numbers between these have finite squares

}  // namespace

/// Choose the variables of the problem: first numbers, then group by group.
///
/// A group is in the problem if it appears in some row. Its variables are those that appear in rows and the cheapest of the
/// others.
void Regions::choose_columns(const Path& path, const Box& box) {
    columns_.clear();
    groups_.clear();
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
            if (group_slot_[g] == OUTSIDE) {
                group_slot_[g] = static_cast<int>(groups_.size());
                groups_.push_back(g);
            }
        }
    numbers_ = columns_.size();
    if (groups_.empty()) return;
    numbers_ = padded(numbers_);
    columns_.resize(numbers_, OUTSIDE);
    for (std::size_t i = 0; i < groups_.size(); ++i) choose_values(i, box);
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
    for (int v = question_->layout.first[groups_[i]]; v < question_->layout.last[groups_[i]]; ++v) {
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
    for (int g : groups_) group_slot_[g] = OUTSIDE;
}

Program Regions::make_program(std::size_t paths, bool closed, Scratch& scratch) const {
    const std::size_t n = columns_.size(), wide = padded(n), group_rows = closed ? 0 : groups_.size();
    const auto line = [&] { return scratch.numbers(wide).data(); };
    Program program{.A = scratch.grid(group_rows + paths, wide),
                    .r = scratch.numbers(group_rows + paths),
                    .n = n,
                    .numbers = closed ? numbers_ : wide,
                    .equal = group_rows + question_->limits.equal,
                    .curves = {line(), line(), line(), line(), line(), line(), line(), line()},
                    .groups = {},
                    .tolerance = scratch.numbers(group_rows + paths),
                    .noise = scratch.numbers(group_rows + paths),
                    .stop_check = stop_check_};
    std::fill_n(program.A.data, program.A.rows * wide, 0.0);
    if (!closed) return program;
    const Numbers scale = scratch.numbers(groups_.size()), home = scratch.numbers(wide);
    std::ranges::fill(home, 0.0);
    for (std::size_t i = 0; i < groups_.size(); ++i) scale[i] = question_->features.scale[columns_[start_[i]]];
    for (std::size_t j = numbers_; j < n; ++j) home[j] = question_->features.source[columns_[j]];
    program.groups = {start_, scale, home};
    return program;
}

/// Write one row per group: its variables keep their sum, or add up to one more if the source's value is not among them.
void Regions::write_groups(const Program& program) const {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        program.r[i] = slot_[question_->source_choice[groups_[i]]] < 0 ? 1.0 : 0.0;
        for (int j = start_[i]; j < start_[i + 1]; ++j) program.A[i][j] = 1.0 / question_->features.scale[columns_[j]];
    }
}

/// Write A d >= r: the rows of the groups, if any, then those of the path.
void Regions::write_rows(const Path& path, const Box& box, Constants slack, const Program& program) {
    const Features& f = question_->features;
    const std::size_t group_rows = program.m() - path.size();
    if (group_rows > 0) write_groups(program);
    std::ranges::fill(program.tolerance.first(group_rows), 0.0);
    std::ranges::fill(program.noise.first(group_rows), 0.0);
    for (std::size_t t = 0; t < path.size(); ++t) {
        const double sign = path.sign[t];
        const Terms terms = question_->row(path.row[t]);
        double total = question_->offset(path.row[t]) + slack[t] - sign * at_source(path.row[t]);
        double size = std::fabs(total);
        bool stuck = true;
        double* a = program.A[group_rows + t];
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
        if (stuck && t < question_->user_rows())
            total = -snapped(path.row[t], terms.exactly_at(box.lower()));
        else if (stuck && std::fabs(total) <= 1e-14 * size)
            total = 0.0;  // all variables of the row are fixed, and it holds up to rounding
        program.r[group_rows + t] = total;
        program.tolerance[group_rows + t] = question_->tolerance(path.row[t]);
        program.noise[group_rows + t] = static_cast<double>(terms.size() + 4) * ROUND * size + noise_[path.row[t]];
    }
}

/// Divide each row by its size, which is written to ``norm``.
void Regions::scale_rows(const Program& program, Numbers norm) const {
    for (std::size_t t = 0; t < program.m(); ++t) {
        double* a = program.A[t];
        double length = 0.0;
        if (question_->method != Method::Flat) length = std::sqrt(loops.square(a, program.A.columns));
        if (!(TINY < length && length < HUGE)) length = largest_of({a, program.A.columns});  // squares out of range
        int exponent = 0;
        std::frexp(length, &exponent);
        norm[t] = length > 0.0 ? std::ldexp(1.0, exponent) : 1.0;  // a power of two, so that scaling is exact
        program.r[t] /= norm[t];
        program.tolerance[t] /= norm[t];
        program.noise[t] /= norm[t];
        loops.divide(a, norm[t], program.A.columns);
    }
}

/// Add to phi, in units of the scale, the charge of a number that may stay: the largest convex function below it is linear.
void Regions::add_charge(const Box& box, int d, Phi& phi) const {
    const Features& f = question_->features;
    const int feature = question_->layout.feature[d];
    const double charge = question_->charge(feature);
    if (charge == 0.0 || !spreads_charges_ || !question_->layout.is_number(d) || box.quota.counted[feature] ||
        !box.holds(d, f.source[d]))
        return;
    if (d > 0 && question_->layout.feature[d - 1] == feature) return;  // the number of a feature carries the charge
    const double up = box.upper(d) - f.source[d], down = f.source[d] - box.lower(d);
    if (up > 0.0) phi.slope_up += charge / up / f.scale[d];
    if (down > 0.0) phi.slope_down -= charge / down / f.scale[d];
}

/// Write phi and the box of the variables, each scaled by its cost; padding cannot move.
void Regions::write_costs(const Box& box, const Program& program) const {
    const Features& f = question_->features;
    const Curves& c = program.curves;
    for (std::size_t j = 0; j < program.A.columns; ++j) {
        const int d = j < columns_.size() ? columns_[j] : OUTSIDE;
        if (d == OUTSIDE) {
            c.slope_up[j] = c.slope_down[j] = c.lower[j] = c.upper[j] = 0.0;
            c.curve_up[j] = c.curve_down[j] = c.compliance_up[j] = c.compliance_down[j] = 1.0;
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
        add_charge(box, d, phi);
        c.curve_up[j] = phi.curve_up, c.slope_up[j] = phi.slope_up;
        c.curve_down[j] = phi.curve_down, c.slope_down[j] = phi.slope_down;
        c.lower[j] = (box.lower(d) - f.source[d]) * s;
        c.upper[j] = (box.upper(d) - f.source[d]) * s;
        c.compliance_up[j] = compliance_of(c.curve_up[j]);
        c.compliance_down[j] = compliance_of(c.curve_down[j]);
    }
}

/// Write the point as a change of every variable; returns the cost of those outside of the problem.
Sum Regions::scatter(const Box& box, const Program& program, Constants point, Numbers change) const {
    const Features& f = question_->features;
    Sum alone{0.0, 0.0};
    const auto stay = [&](std::size_t d) {
        if (slot_[d] >= 0) return;
        change[d] = f.phi(d).respond(0.0, box.lower(d) - f.source[d], box.upper(d) - f.source[d]);
        alone.total += f.price(d, change[d]);
        alone.size += f.phi(d).size(change[d]);
    };
    if (source_is_best_) {  // only variables that a split has narrowed can differ from the source
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

/// On a table: put every variable outside of the problem at its best value.
void Regions::scatter_outside(const Box& box, Numbers change) const {
    const Features& f = question_->features;
    for (std::size_t d = 0; d < change.size(); ++d) {
        if (slot_[d] >= 0) continue;
        change[d] =
            !question_->layout.is_number(d) ? -f.source[d] : best_change(*question_, d, 0.0, box.lower(d), box.upper(d)).change;
    }
    for (std::size_t g = 0; g < group_slot_.size(); ++g)
        if (group_slot_[g] == OUTSIDE) change[cheapest(*question_, g, box.upper())] += 1.0;
}

/// Remove bounds that are only horizons.
void Regions::open_horizon(const Box& box, const Program& program) const {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
        const int d = columns_[j];
        if (d == OUTSIDE) continue;
        if (true_upper(*question_, box, d) == INF) program.curves.upper[j] = INF;
        if (true_lower(*question_, box, d) == -INF) program.curves.lower[j] = -INF;
    }
}

}  // namespace counterleaf
