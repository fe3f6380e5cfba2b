// Inspects processes by helpers that can be done without: a look that takes longer than its deadline costs its helper, which
// is killed, or left alone as long as the kernel does not let it go. What held it up is avoided for a while (hold_ups.hpp),
// and nobody's processes can take all helpers (helper_shares.hpp).
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
    std::uint64_t started = 0;  // helpers
    std::uint64_t held_up = 0;  // looks that took longer than the deadline
    std::uint64_t refused = 0;  // looks that were not tried, as something there had held one up
    std::uint64_t stuck = 0;    // helpers that still are
    std::string last_held_up;   // what the last of them was for
    std::string start_problem;  // why there is none; empty: the last start went well
    std::map<Party, std::uint64_t> held_up_by;
};

// As long as it lives, what this thread asks a pool for ends soon (Timeout) once `given_up`, which outlives it, is set. One at
// a time for each thread.
class LooksGivenUp {
  public:
    explicit LooksGivenUp(const std::atomic<bool>& given_up);
    ~LooksGivenUp();
    LooksGivenUp(const LooksGivenUp&) = delete;
    LooksGivenUp& operator=(const LooksGivenUp&) = delete;
};

// Whether the looks of this thread end early now.
[[nodiscard]] bool looks_are_given_up();

// Free to be used from any thread.
class InspectorPool : public ProcessInspector, public CodeFileCopier {
  public:
    struct Options {
        std::function<Result<InspectorHelper>()> start = start_inspector;
        HelperLimits limits;
        std::chrono::milliseconds deadline{5'000};
    };
    explicit InspectorPool(Options options) : options_(std::move(options)), shares_(options_.limits) {}
    // Kills the helpers; does not wait for those that are stuck.
    ~InspectorPool() override;

    [[nodiscard]] Result<InspectedProcess> read(std::uint32_t pid, Code code, const InspectionLimits& limits) override;
    [[nodiscard]] std::vector<Result<CodeFileIdentity>> identify(const std::vector<NamedMapping>& mappings) override;
    [[nodiscard]] Result<OpenedFile> open(const NamedMapping& mapping) override;
    [[nodiscard]] Result<OpenedFile> open_program(std::uint32_t pid) override;
    [[nodiscard]] Result<UniqueFd> open_root(std::uint32_t pid) override;
    [[nodiscard]] Result<std::vector<std::uint64_t>> read_words(std::uint32_t pid,
                                                                const std::vector<std::uint64_t>& addresses) override;
    [[nodiscard]] Result<std::string> read_memory(std::uint32_t pid, std::uint64_t address,
                                                  std::uint64_t bytes) override;

    [[nodiscard]] Result<FollowedProcess> follow(std::uint32_t pid) override;
    [[nodiscard]] Result<UniqueFd> open_mapped(const lagtrap_mapping& mapping) override;
    [[nodiscard]] Result<OpenedCodeFile> open_code_file(Owner owner, int place, const std::string& name) override;
    [[nodiscard]] Result<std::uint64_t> copy(Owner owner, int from, int to, std::uint64_t limit_bytes) override;

    // Processes whose programs events watch: they are looked into though others hold up looks.
    void keep_room_for(std::set<std::uint32_t> watched_pids);

    [[nodiscard]] InspectionCounts counts() const;
    // How read() gives command lines from now on, whatever its limits say; without a call: masked.
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
        bool answered = false;  // else the helper is of no use any more
    };
    struct Request {
        InspectionMessage kind{};
        std::uint32_t pid = 0;
        std::string body;
        int file = -1;                    // goes with it
        int given = -1;                   // goes before it
        std::optional<Party> party = {};  // whose process it is or was; else it is looked up
    };
    [[nodiscard]] Result<Answer> ask(const Request& request);
    [[nodiscard]] Result<OpenedFile> opened_by(const Request& request);
    [[nodiscard]] Result<Answer> converse(const InspectorHelper& helper, const Request& request,
                                          const std::string& body, Conversation& conversation) const;
    [[nodiscard]] Status receive(const InspectorHelper& helper, char* into, std::size_t size, UniqueFd& file,
                                 Clock::time_point deadline) const;
    [[nodiscard]] Result<InspectorHelper> acquire(std::uint32_t pid, Party party, std::string& avoided);
    [[nodiscard]] bool await_turn(std::unique_lock<std::mutex>& lock, std::uint32_t pid, Party party);
    void bury_stuck();
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
        Party party = root_party;  // whose process it looks into
    };
    std::vector<Stuck> stuck_;
    HoldUps hold_ups_;
    InspectionCounts counts_;
};

}  // namespace lagtrap::daemon
