// A streamed answer at the control socket: another thread sends it line by line until either side
// ends it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/control/answer_lines.hpp"

namespace lagtrap::daemon {

// The process at the other end, when it connected.
struct StreamClient {
    pid_t pid = 0;
    uid_t uid = 0;
};

// Connects the thread that writes lines with the connection that sends them. Thread-safe.
class AnswerStream : public AnswerLines {
  public:
    // The most that is buffered for a client that does not read.
    static constexpr std::size_t waiting_limit_bytes = 24 << 20;

    // `on_lines` is called when take() has something, on the writer's thread. It is not called
    // after the client has disconnected.
    explicit AnswerStream(std::function<void()> on_lines, StreamClient client = {})
        : on_lines_(std::move(on_lines)), client_(client) {}
    [[nodiscard]] StreamClient client() const { return client_; }

    // For the writer. False if the client is too slow or has disconnected.
    bool say(const std::string& line) override { return say(line, waiting_limit_bytes); }
    void end(const std::string& line) override {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        (void)say(line, waiting_limit_bytes * 2);
    }
    [[nodiscard]] bool is_unwanted() const override { return gone_.load() || enough_.load(); }
    // True if the client has disconnected. Thread-safe.
    [[nodiscard]] bool is_gone() const { return gone_.load(); }

    // For the connection: returns the buffered lines with their newlines, or an empty string.
    [[nodiscard]] std::string take() {
        const std::lock_guard lock(mutex_);
        std::string taken = std::move(waiting_);
        waiting_.clear();
        return taken;
    }
    // True if nothing follows once take() returns an empty string.
    [[nodiscard]] bool ended() const {
        const std::lock_guard lock(mutex_);
        return ended_;
    }
    // The client wants no more lines except the last.
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
    const StreamClient client_;
    std::atomic<bool> gone_{false}, enough_{false};
    mutable std::mutex mutex_;
    bool ended_ = false;
    std::string waiting_;
};

}  // namespace lagtrap::daemon
