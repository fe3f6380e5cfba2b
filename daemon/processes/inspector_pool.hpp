// Inspects processes by helpers that can be done without: a look that takes longer than its deadline costs its helper, which
// is killed, or left alone as long as the kernel does not let it go. What held it up is avoided for a while (hold_ups.hpp).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/hold_ups.hpp"
#include "daemon/processes/inspector_wire.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

struct InspectorHelper {
    pid_t pid = -1;
    UniqueFd socket;
};

// lagtrapd once more, as such a helper (inspector_service.hpp).
[[nodiscard]] Result<InspectorHelper> start_inspector();

struct InspectionCounts {
    std::uint64_t started = 0;                          // helpers
    std::uint64_t held_up = 0;                          // looks that took longer than the deadline
    std::uint64_t refused = 0;                          // looks that were not tried, as something there had held one up
    std::uint64_t stuck = 0;                            // helpers that still are
    std::string last_held_up;                           // what the last of them was for
    std::string start_problem;                          // why there is none; empty: the last start went well
    std::map<std::uint32_t, std::uint64_t> held_up_by;  // user
};

// Free to be used from any thread.
class InspectorPool : public ProcessInspector {
  public:
    struct Options {
        std::function<Result<InspectorHelper>()> start = start_inspector;
        std::size_t most_helpers = 4;  // at work
        std::size_t most_stuck = 8;    // more are not risked: then no process is looked into
        std::chrono::milliseconds deadline{5'000};
    };
    explicit InspectorPool(Options options) : options_(std::move(options)) {}
    // Kills the helpers; does not wait for those that are stuck.
    ~InspectorPool() override;

    [[nodiscard]] Result<InspectedProcess> read(std::uint32_t pid, Code code, const InspectionLimits& limits) override;
    [[nodiscard]] std::vector<Result<CodeFileIdentity>> identify(const std::vector<NamedMapping>& mappings) override;
    [[nodiscard]] Result<OpenedFile> open(const NamedMapping& mapping) override;
    [[nodiscard]] Result<std::vector<std::uint64_t>> read_words(std::uint32_t pid,
                                                                const std::vector<std::uint64_t>& addresses) override;

    [[nodiscard]] InspectionCounts counts() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Answer {
        std::string body;
        UniqueFd file;
    };
    struct Conversation {
        HoldUp progress;
        bool answered = false;  // else the helper is of no use any more
    };
    [[nodiscard]] Result<Answer> ask(InspectionMessage kind, std::uint32_t pid, const std::string& what);
    [[nodiscard]] Result<Answer> converse(const InspectorHelper& helper, InspectionMessage kind,
                                          const std::string& body, Conversation& conversation) const;
    [[nodiscard]] Status receive(const InspectorHelper& helper, char* into, std::size_t size, UniqueFd& file,
                                 Clock::time_point deadline) const;
    [[nodiscard]] Result<InspectorHelper> acquire(std::uint32_t pid, std::string& avoided);
    void bury_stuck();
    static bool has_ended(pid_t pid);

    const Options options_;
    mutable std::mutex mutex_;
    std::condition_variable freed_;
    std::size_t busy_ = 0;
    std::vector<InspectorHelper> idle_;
    std::vector<pid_t> stuck_;
    HoldUps hold_ups_;
    InspectionCounts counts_;
};

}  // namespace lagtrap::daemon
