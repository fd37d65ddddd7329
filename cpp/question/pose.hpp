// Build the question about one row from a tree, prices, a target and limits.
#pragma once

#include "question/question.hpp"

namespace counterleaf {

/// The data that all questions about one tree share.
struct Model {
    Tree tree;
    Layout layout;
    double guard = 0.0;
};

/// A question with the memory for everything that depends on its source; the memory is reused by the next question.
class PosedQuestion {
public:
    /// The question about ``source``, which the model sends to ``leaf``; ``line`` is its line in ``limits``.
    Question pose(const Model& model, const Prices& prices, const Target& target, const Limits& limits, Constants source,
                  int leaf, std::size_t line);

private:
    Numbers line(std::size_t k) { return Numbers(lines_).subspan(k * width_, width_); }
    void set_limits(const Limits& limits, Constants source, std::size_t line);
    void set_values(const Model& model, const Prices& prices);
    void set_entries(const Layout& layout, const Limits& limits, std::size_t line);
    void set_horizon(const Prices& prices);
    Method choose_method(const Layout& layout, const Prices& prices, bool plain) const;
    void scale_what_is_free(const Model& model, const Limits& limits);
    double unit_of(const Layout& layout, const Prices& prices) const;
    void set_sizes(const Layout& layout, const Limits& limits);
    bool stays(const Prices& prices, const Limits& limits) const;

    std::size_t width_ = 0;
    std::vector<double> lines_;   // the lines of Features
    std::vector<double> values_;  // the price of each value of a group, 0 for numbers
    std::vector<int> source_choice_;
    std::vector<double> soft_;
    std::vector<Interval> entries_;
    std::vector<double> sizes_, source_sizes_;
    Features f_;
};

}  // namespace counterleaf
