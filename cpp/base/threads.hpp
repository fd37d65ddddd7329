// Many rows, distributed among threads in small portions.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/stopping.hpp"

namespace counterleaf {

/// How one question of a batch ended. Unanswered: the batch left it open, and the caller must pose it on its own.
enum class Outcome : std::int8_t { Found, None, Unanswered };

/// Threads that are joined when this object is destroyed.
class Threads {
public:
    Threads() = default;
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;
    ~Threads() {
        for (std::thread& thread : all_) thread.join();
    }

    /// Start a thread; false if the system refuses.
    template <class Run>
    bool add(Run run) {
        try {
            all_.emplace_back(run);
            return true;
        } catch (const std::system_error&) {
            return false;
        }
    }

private:
    std::vector<std::thread> all_;
};

/// Call ``work(worker, first, last, stop_check)`` for portions of 0 .. n until all are done or ``stop_check`` is due. Returns
/// the reason for stopping.
///
/// The calling thread is worker 0 and the only one that uses ``stop_check``: it checks before each portion and, after its last
/// portion, every 20 ms until the other workers end. Every other worker has its own check, which is due as soon as worker 0 has
/// stopped. Long work must look at its check and return early. An exception in one worker stops all workers and is rethrown.
template <class Work>
StopReason share_out(std::size_t n, std::size_t portion, std::size_t threads, StopCheck& stop_check, Work work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> ended{false};
    std::size_t running = 0;
    std::exception_ptr failure;
    std::mutex lock;  // guards ``running`` and ``failure``
    std::condition_variable changed;
    const auto run = [&](std::size_t worker, StopCheck& own_check) {
        try {
            while (!ended.load(std::memory_order_relaxed) && !own_check.is_due()) {
                const std::size_t first = next.fetch_add(portion, std::memory_order_relaxed);
                if (first >= n) return;
                work(worker, first, std::min(first + portion, n), own_check);
            }
        } catch (...) {
            const std::scoped_lock hold(lock);
            if (!failure) failure = std::current_exception();
        }
        ended = true;
    };
    {
        Threads others;
        for (std::size_t worker = 1; worker < std::min(threads, (n + portion - 1) / portion); ++worker) {
            const auto join_in = [&, worker] {
                StopCheck own_check({}, &ended);
                run(worker, own_check);
                const std::scoped_lock hold(lock);
                --running;
                changed.notify_one();
            };
            const std::scoped_lock hold(lock);
            if (!others.add(join_in)) break;
            ++running;
        }
        run(0, stop_check);
        std::unique_lock hold(lock);
        while (!changed.wait_for(hold, std::chrono::milliseconds{20}, [&] { return running == 0; })) {
            hold.unlock();
            if (stop_check.look()) ended = true;
            hold.lock();
        }
    }
    if (failure) std::rethrow_exception(failure);
    return stop_check.reason();
}

}  // namespace counterleaf
