// An answer at the control socket that goes on: line by line, from another thread, until either side ends it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/control/answer_lines.hpp"

namespace lagtrap::daemon {

// Between the thread that writes lines and the connection that sends them. Free to be used from any thread.
class AnswerStream : public AnswerLines {
  public:
    // What waits for a client that does not read, at most.
    static constexpr std::size_t waiting_limit_bytes = 24 << 20;

    // `on_lines` is called when there is something to take, on the thread that said it; not after is_unwanted().
    explicit AnswerStream(std::function<void()> on_lines) : on_lines_(std::move(on_lines)) {}

    // Of the writer. False: the client is too slow, or gone.
    bool say(const std::string& line) override { return say(line, waiting_limit_bytes); }
    void end(const std::string& line) override {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        (void)say(line, waiting_limit_bytes * 2);
    }
    [[nodiscard]] bool is_unwanted() const override { return gone_.load() || enough_.load(); }

    // Of the connection. What waits, lines with their ends; empty: nothing.
    [[nodiscard]] std::string take() {
        const std::lock_guard lock(mutex_);
        std::string taken = std::move(waiting_);
        waiting_.clear();
        return taken;
    }
    // Nothing comes any more once take() has nothing.
    [[nodiscard]] bool ended() const {
        const std::lock_guard lock(mutex_);
        return ended_;
    }
    // The client wants no more than the end.
    void note_enough() { enough_.store(true); }
    void note_gone() {
        const std::lock_guard lock(mutex_);
        gone_.store(true);
    }

  private:
    bool say(const std::string& line, std::size_t limit_bytes) {
        const std::lock_guard lock(mutex_);
        if (gone_.load() || waiting_.size() + line.size() > limit_bytes) return false;
        waiting_ += line;
        waiting_ += '\n';
        on_lines_();
        return true;
    }

    std::function<void()> on_lines_;
    std::atomic<bool> gone_{false}, enough_{false};
    mutable std::mutex mutex_;
    bool ended_ = false;
    std::string waiting_;
};

}  // namespace lagtrap::daemon
