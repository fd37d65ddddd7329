// One tree with one margin, ready for questions from any number of threads.
//
// Nothing in it changes once it is made but a store of searches whose memory is used again.
#pragma once

#include <memory>
#include <mutex>

#include "base/threads.hpp"
#include "question/pose.hpp"
#include "search/report.hpp"

namespace counterleaf {

/// One answer with its proof; it depends on nothing but itself.
struct Answer {
    Report report;
    bool stopped = false;              // by a limit, before all was looked at
    bool thin = false;                 // some answer's leaf lies between faces that nearly coincide
    bool in_doubt = false;             // whether the verdict may be due to rounding: it is to be checked in exact arithmetic
    int runaway = -1;                  // Unbounded: the variable that runs away
    std::size_t taken = 0;             // states taken up
    std::vector<std::int64_t> leaves;  // of the answers
    std::vector<double> costs;
    std::vector<double> points;  // the answers' rows, one after another
    // the question
    std::vector<double> features;  // the nine lines of Features
    std::vector<std::int64_t> source_choice;
    std::vector<double> soft;
    std::vector<Interval> entries;
    double unit = 0.0;
    int home = -1;
    Method method = Method::Box;
    bool plain = true;
    // the proof
    std::vector<State> states;
    std::vector<double> multipliers;  // of the states, one after another
    std::vector<double> tangents;     // likewise, where the cost couples features
    std::unique_ptr<Memory> memory;   // if it was asked for, to go on from
};

/// The cheapest leaf of each of many questions.
struct Answers {
    std::span<std::int8_t> outcomes;
    std::span<std::int64_t> leaves;
    Numbers costs, bounds, points;
};

/// Questions that differ in their source.
struct Batch {
    Constants sources;                     // one after another
    std::span<const std::int64_t> leaves;  // of the sources
    std::span<const std::int64_t> kinds;   // which of the targets is whose
    std::span<const Target* const> targets;

    std::size_t size() const { return leaves.size(); }
};

class Engine {
public:
    explicit Engine(Model model) : model_(std::move(model)) {}

    const Model& model() const { return model_; }

    /// The question alone, without an answer.
    Answer pose(Constants source, int leaf, const Prices& prices, const Target& target, const Limits& limits) const;

    /// ``earlier``: the memory of the same question with a smaller margin, or null.
    Answer find(Constants source, int leaf, const Prices& prices, const Target& target, const Limits& limits,
                const Budget& budget, const Memory* earlier, StopCheck& stop_check) const;

    /// The cheapest leaf of every question; those that a limit or rounding left open, or in doubt, are Unanswered.
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
