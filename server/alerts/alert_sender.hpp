// Evaluates alert rules and sends messages. Separate threads do it, so that a receiver that does
// not answer never delays a rule. All state is in the store, which several servers may share.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/result.hpp"
#include "server/alerts/rule.hpp"
#include "server/alerts/sender.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

struct AlertOptions {
    // of the pages, without a trailing slash; empty: messages have no links
    std::string public_url;
    // between two evaluations of a rule
    std::chrono::nanoseconds interval{std::chrono::seconds(60)};
    Receivers receivers = Receivers::NotLocal;
};

// Since the server started.
struct AlertFigures {
    std::atomic<std::uint64_t> delivered{0};
    std::atomic<std::uint64_t> failures{0};  // failed attempts
    std::atomic<std::uint64_t> given_up{0};
    std::atomic<std::uint64_t> look_failures{0};
};

class AlertSender {
  public:
    using Log = std::function<void(const std::string&)>;

    // `store` must outlive it. Calls `log` on its threads.
    AlertSender(Store& store, AlertOptions options, Log log)
        : store_(store), options_(std::move(options)), log_(std::move(log)) {}
    AlertSender(const AlertSender&) = delete;
    AlertSender& operator=(const AlertSender&) = delete;
    ~AlertSender() { stop(); }

    void start();
    // Cancels sending. The message is sent again after the next start, or by other servers.
    void stop();
    // Signals a new rule or message. Any thread.
    void wake();

    // Evaluates one rule that is due; returns whether there was one. For start() and tests.
    [[nodiscard]] Result<bool> look_once(std::uint64_t now_realtime_ns);
    // Sends one message that is due; returns whether there was one.
    [[nodiscard]] Result<bool> send_once(std::uint64_t now_realtime_ns);

    [[nodiscard]] const AlertFigures& figures() const { return figures_; }
    [[nodiscard]] const AlertOptions& options() const { return options_; }

  private:
    void work(Result<bool> (AlertSender::*step)(std::uint64_t));
    [[nodiscard]] Result<std::vector<Finding>> found_before(std::uint64_t id, const Rule& rule,
                                                            std::uint64_t now_ns) const;
    [[nodiscard]] Status look_at(const StoredRule& stored, std::uint64_t now_ns);
    [[nodiscard]] Status send(const StoredMessage& message, std::uint64_t now_ns);

    Store& store_;
    const AlertOptions options_;
    Log log_;
    AlertFigures figures_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::uint64_t wakes_ = 0;
    std::atomic<bool> stopping_{false};
    std::vector<std::thread> threads_;
};

// For Prometheus.
[[nodiscard]] std::string alert_metrics(const AlertFigures& figures, const MessageCounts& counts);

}  // namespace lagtrap::server
