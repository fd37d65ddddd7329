#include "search/engine.hpp"

namespace counterleaf {
namespace {

constexpr std::size_t PORTION = 16;     // questions that a thread takes at once
constexpr std::size_t STORED = 8;       // searches whose memory is stored for reuse
constexpr std::size_t LARGE = 1 << 19;  // memory with more numbers than this is not stored

/// Copy the states and their multipliers, which are the proof.
void write_proof(const Question& question, const Memory& memory, Answer& out) {
    out.states = memory.states;
    for (std::size_t s = 0; s < memory.states.size(); ++s) {
        const Numbers lam = memory.multipliers[s].first(memory.states[s].rows);
        out.multipliers.insert(out.multipliers.end(), lam.begin(), lam.end());
        if (question.method != Method::Coupled) continue;
        const Numbers tangent = memory.tangents[s];
        out.tangents.insert(out.tangents.end(), tangent.begin(), tangent.end());
    }
}

}  // namespace

std::unique_ptr<Engine::Worker> Engine::take() const {
    // never wait for the lock: after a fork of the process, the thread that held it does not exist in the child
    const std::unique_lock hold(lock_, std::try_to_lock);
    if (!hold.owns_lock() || store_.empty()) return std::make_unique<Worker>(model_);
    std::unique_ptr<Worker> worker = std::move(store_.back());
    store_.pop_back();
    return worker;
}

void Engine::give_back(std::unique_ptr<Worker> worker) const {
    if (worker->search.memory.states.capacity() * (model_.tree.width + 64) > LARGE) return;
    const std::unique_lock hold(lock_, std::try_to_lock);
    if (hold.owns_lock() && store_.size() < STORED) store_.push_back(std::move(worker));
}

Answer Engine::find(Constants source, int leaf, const Prices& prices, const Target& target, const Limits& limits,
                    const Budget& budget, const Memory* earlier, StopCheck& stop_check) const {
    std::unique_ptr<Worker> worker = take();
    Search& search = worker->search;
    const Question question = worker->posed.pose(model_, prices, target, limits, source, leaf, 0);
    const Ending ending =
        earlier == nullptr ? search.run(question, budget, stop_check) : search.resume(*earlier, question, budget, stop_check);
    const Memory& memory = search.memory;
    Answer out;
    out.report = report(memory, ending, budget.answers);
    const bool claims = out.report.verdict == Verdict::Optimal || out.report.verdict == Verdict::Infeasible;
    out.in_doubt = claims && search.in_doubt;
    out.stopped = ending == Ending::Stopped;
    for (int state : out.report.states) out.thin = out.thin || memory.states[state].thin;
    out.runaway = ending == Ending::Unbounded ? search.runaway : -1;
    out.taken = memory.taken;
    out.width = model_.tree.width;
    for (int state : out.report.states) {
        const State& found = memory.states[state];
        const Numbers point = memory.points[found.point];
        out.leaves.push_back(found.node);
        out.costs.push_back(found.cost);
        out.points.insert(out.points.end(), point.begin(), point.end());
    }
    write_proof(question, memory, out);
    if (budget.keep) out.memory = std::make_unique<Memory>(memory);
    give_back(std::move(worker));
    return out;
}

StopReason Engine::find_many(const Batch& batch, const Prices& prices, const Limits& limits, const Budget& budget,
                             std::size_t threads, StopCheck& stop_check, const Answers& out) const {
    const std::size_t width = model_.tree.width;
    std::vector<std::unique_ptr<Worker>> workers(std::min(threads, batch.size() / PORTION + 1));
    std::ranges::fill(out.outcomes, static_cast<std::int8_t>(Outcome::Unanswered));
    std::ranges::fill(out.leaves, -1);
    std::ranges::fill(out.costs, INF);
    std::ranges::fill(out.bounds, INF);
    std::ranges::copy(batch.sources, out.points.begin());
    const auto answer = [&](Worker& worker, std::size_t k, StopCheck& own_check) {
        const Constants source = batch.sources.subspan(k * width, width);
        const Question question = worker.posed.pose(model_, prices, *batch.targets[batch.kinds[k]], limits, source,
                                                    static_cast<int>(batch.leaves[k]), k);
        const Ending ending = worker.search.run(question, budget, own_check);
        const Memory& memory = worker.search.memory;
        const bool thin = std::ranges::any_of(memory.answers, [&](int state) { return memory.states[state].thin; });
        const bool settled = ending == Ending::Done && memory.unsettled == 0 && !worker.search.in_doubt && !thin;
        if (!settled) return;
        out.outcomes[k] = static_cast<std::int8_t>(Outcome::None);
        if (memory.answers.empty()) return;
        const State& best = memory.states[memory.answers.front()];
        out.outcomes[k] = static_cast<std::int8_t>(Outcome::Found);
        out.leaves[k] = best.node, out.costs[k] = best.cost, out.bounds[k] = best.bound;
        std::ranges::copy(memory.points[best.point], out.points.subspan(k * width, width).begin());
    };
    const auto work = [&](std::size_t at, std::size_t first, std::size_t last, StopCheck& own_check) {
        if (!workers[at]) workers[at] = take();
        for (std::size_t k = first; k < last && !own_check.is_due(); ++k) answer(*workers[at], k, own_check);
    };
    const StopReason reason = share_out(batch.size(), PORTION, threads, stop_check, work);
    for (std::unique_ptr<Worker>& worker : workers)
        if (worker) give_back(std::move(worker));
    return reason;
}

}  // namespace counterleaf
