// Inspects processes by expendable helper processes. A helper that exceeds its deadline is killed,
// or abandoned while the kernel does not release it. The pool then avoids the process, user or
// device that delayed it for a while (hold_ups.hpp). No party can occupy all helpers
// (helper_shares.hpp).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/party.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/code_file_copier.hpp"
#include "daemon/processes/helper_shares.hpp"
#include "daemon/processes/hold_ups.hpp"
#include "daemon/processes/inspections_cancelled.hpp"
#include "daemon/processes/inspector_wire.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

struct InspectorHelper {
    pid_t pid = -1;
    UniqueFd socket;
};

// Starts lagtrapd again as a helper (inspector_service.hpp).
[[nodiscard]] Result<InspectorHelper> start_inspector();

struct InspectionCounts {
    std::uint64_t started = 0;  // helpers
    std::uint64_t held_up = 0;  // inspections that exceeded the deadline
    std::uint64_t refused = 0;  // inspections skipped because an earlier one was delayed there
    std::uint64_t stuck = 0;    // helpers stuck now
    std::string last_held_up;   // what the last of the delayed ones was for
    std::string start_problem;  // why there is no helper; empty if the last start succeeded
    std::map<Party, std::uint64_t> held_up_by;
};

// Thread-safe.
class InspectorPool : public ProcessInspector, public CodeFileCopier {
  public:
    struct Options {
        std::function<Result<InspectorHelper>()> start = start_inspector;
        HelperLimits limits;
        std::chrono::milliseconds deadline{5'000};
    };
    explicit InspectorPool(Options options)
        : options_(std::move(options)), shares_(options_.limits) {}
    // Kills the helpers; does not wait for stuck ones.
    ~InspectorPool() override;

    [[nodiscard]] Result<InspectedProcess> read(std::uint32_t pid, Code code,
                                                const InspectionLimits& limits) override;
    [[nodiscard]] std::vector<Result<CodeFileIdentity>> identify(
        const std::vector<NamedMapping>& mappings) override;
    [[nodiscard]] Result<OpenedFile> open(const NamedMapping& mapping) override;
    [[nodiscard]] Result<OpenedFile> open_program(std::uint32_t pid) override;
    [[nodiscard]] Result<UniqueFd> open_root(std::uint32_t pid) override;
    [[nodiscard]] Result<std::vector<std::uint64_t>> read_words(
        std::uint32_t pid, const std::vector<std::uint64_t>& addresses) override;
    [[nodiscard]] Result<std::string> read_memory(std::uint32_t pid, std::uint64_t address,
                                                  std::uint64_t bytes) override;
    [[nodiscard]] Result<ProcessContext> process_context(std::uint32_t pid) override;

    [[nodiscard]] Result<FollowedProcess> follow(std::uint32_t pid) override;
    [[nodiscard]] Result<UniqueFd> open_mapped(const lagtrap_mapping& mapping) override;
    [[nodiscard]] Result<OpenedCodeFile> open_code_file(Owner owner, int place,
                                                        const std::string& name) override;
    [[nodiscard]] Result<std::uint64_t> copy(Owner owner, int from, int to,
                                             std::uint64_t limit_bytes) override;

    // Reserves helpers for processes with watched programs, even while other inspections are
    // delayed.
    void keep_room_for(std::set<std::uint32_t> watched_pids);

    [[nodiscard]] InspectionCounts counts() const;
    // How read() returns command lines from now on, overriding its limits. Masked by default.
    void show_command_lines(CommandLines mode) { command_lines_.store(mode); }

  private:
    using Clock = std::chrono::steady_clock;
    std::atomic<CommandLines> command_lines_{CommandLines::Masked};
    struct Answer {
        std::string body;
        UniqueFd file;
    };
    struct Conversation {
        HoldUp progress;
        bool answered = false;  // false: the helper is not usable any more
    };
    struct Request {
        InspectionMessage kind{};
        std::uint32_t pid = 0;
        std::string body;
        int file = -1;   // sent with the request
        int given = -1;  // sent before the request
        // owner of the process, even if it is gone; looked up if not set
        std::optional<Party> party = {};
    };
    [[nodiscard]] Result<Answer> ask(const Request& request);
    [[nodiscard]] Result<OpenedFile> opened_by(const Request& request);
    [[nodiscard]] Result<Answer> converse(const InspectorHelper& helper, const Request& request,
                                          const std::string& body,
                                          Conversation& conversation) const;
    [[nodiscard]] Status receive(const InspectorHelper& helper, char* into, std::size_t size,
                                 UniqueFd& file, Clock::time_point deadline) const;
    [[nodiscard]] Result<InspectorHelper> acquire(std::uint32_t pid, Party party,
                                                  std::string& avoided);
    [[nodiscard]] bool await_turn(std::unique_lock<std::mutex>& lock, std::uint32_t pid,
                                  Party party);
    void join_stuck();
    static bool has_ended(pid_t pid);
    static bool ends_at_once(pid_t pid);

    const Options options_;
    mutable std::mutex mutex_;
    std::condition_variable freed_;
    HelperShares shares_;
    std::set<std::uint32_t> watched_pids_;
    std::vector<InspectorHelper> idle_;
    struct Stuck {
        pid_t helper = -1;
        Party party = root_party;  // owner of the process that it inspects
    };
    std::vector<Stuck> stuck_;
    HoldUps hold_ups_;
    InspectionCounts counts_;
};

}  // namespace lagtrap::daemon
