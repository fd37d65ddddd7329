// When to end before the work is done: the time is over, another thread says so, or the user pressed Ctrl-C.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace counterleaf {

enum class Halt : std::int8_t { None, Deadline, Stopped, Interrupted };

/// What a thread sets to end the work of another one.
struct StopFlag {
    std::atomic<bool> flag{false};
};

/// Call ``stop`` every few microseconds or milliseconds; once it holds, it goes on to hold, and ``halt`` says why.
class Watch {
public:
    using Clock = std::chrono::steady_clock;
    using Deadline = std::optional<Clock::time_point>;

    /// ``stopped`` is a flag that another thread sets. ``interrupted`` says whether a signal has arrived; it may be slow, and
    /// only the thread that calls ``stop`` calls it, never within the first PAUSE.
    explicit Watch(Deadline deadline = {}, const std::atomic<bool>* stopped = nullptr, std::function<bool()> interrupted = {})
        : deadline_(deadline), stopped_(stopped), interrupted_(std::move(interrupted)), looked_(Clock::now()),
          polled_(looked_) {}

    /// As ``look``, but most calls read the flag alone and not the clock.
    bool stop() {
        if (halt_ == Halt::None && is_stopped()) halt_ = Halt::Stopped;
        return halt_ != Halt::None || (--calls_ <= 0 && look());
    }

    /// Look at the flag, the clock and, at most once per PAUSE, for signals.
    bool look() {
        if (halt_ != Halt::None) return true;
        const Clock::time_point now = Clock::now();
        calls_ = now - looked_ < SHORT ? CALLS : 1;
        looked_ = now;
        if (is_stopped()) {
            halt_ = Halt::Stopped;
        } else if (deadline_ && now >= *deadline_) {
            halt_ = Halt::Deadline;
        } else if (interrupted_ && now - polled_ >= PAUSE) {
            polled_ = now;
            if (interrupted_()) halt_ = Halt::Interrupted;
        }
        return halt_ != Halt::None;
    }

    Halt halt() const { return halt_; }

private:
    bool is_stopped() const { return stopped_ != nullptr && stopped_->load(std::memory_order_relaxed); }

    static constexpr int CALLS = 8;  // that follow each other quickly and share one look at the clock
    static constexpr std::chrono::milliseconds SHORT{1}, PAUSE{40};

    Deadline deadline_;
    const std::atomic<bool>* stopped_;
    std::function<bool()> interrupted_;
    Clock::time_point looked_, polled_;
    int calls_ = 1;
    Halt halt_ = Halt::None;
};

}  // namespace counterleaf
