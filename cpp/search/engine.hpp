// One tree with one margin, ready for questions from any number of threads.
//
// An engine is immutable except for a store of searches whose memory is reused.
#pragma once

#include <memory>
#include <mutex>

#include "base/threads.hpp"
#include "question/pose.hpp"
#include "search/report.hpp"

namespace counterleaf {

/// One answer with its proof; it does not refer to other objects.
struct Answer {
    Report report;
    bool stopped = false;              // a limit stopped the search early
    bool thin = false;                 // the leaf of some answer lies between faces that nearly coincide
    bool in_doubt = false;             // the verdict may be due to rounding and must be checked in exact arithmetic
    int runaway = -1;                  // Unbounded: the variable whose cost decreases without end
    std::size_t taken = 0;             // the number of states processed
    std::vector<std::int64_t> leaves;  // of the answers
    std::vector<double> costs;
    std::vector<double> points;  // the answers' rows, one after another
    std::size_t width = 0;       // of a row
    // the proof
    std::vector<State> states;
    std::vector<double> multipliers;  // of the states, one after another
    std::vector<double> tangents;     // likewise, where the cost couples features
    std::unique_ptr<Memory> memory;   // for ``Search::resume``, if the budget requests it
};

/// The cheapest leaf of each question of a batch.
struct Answers {
    std::span<std::int8_t> outcomes;
    std::span<std::int64_t> leaves;
    Numbers costs, bounds, points;
};

/// Questions that differ in their source.
struct Batch {
    Constants sources;                     // one after another
    std::span<const std::int64_t> leaves;  // of the sources
    std::span<const std::int64_t> kinds;   // the target of each question
    std::span<const Target* const> targets;

    std::size_t size() const { return leaves.size(); }
};

class Engine {
public:
    explicit Engine(Model model) : model_(std::move(model)) {}

    const Model& model() const { return model_; }

    /// ``earlier`` is the memory of the same question with a smaller margin, or null.
    Answer find(Constants source, int leaf, const Prices& prices, const Target& target, const Limits& limits,
                const Budget& budget, const Memory* earlier, StopCheck& stop_check) const;

    /// The cheapest leaf of every question. Questions that a limit or rounding leaves undecided are Unanswered.
    StopReason find_many(const Batch& batch, const Prices& prices, const Limits& limits, const Budget& budget,
                         std::size_t threads, StopCheck& stop_check, const Answers& out) const;

private:
    struct Worker {
        Worker(const Model& model) : search(model.tree.width, model.tree.depth, model.layout.groups()) {}
        PosedQuestion posed;
        Search search;
    };

    std::unique_ptr<Worker> take() const;
    void give_back(std::unique_ptr<Worker> worker) const;

    Model model_;
    mutable std::mutex lock_;
    mutable std::vector<std::unique_ptr<Worker>> store_;
};

}  // namespace counterleaf
