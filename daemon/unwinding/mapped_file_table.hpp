// Which processes map files that the settings mean, as far as the kernel's records were passed on,
// within limits of memory. MappedFiles makes it usable from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/records.h"
#include "core/party.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/user_shares.hpp"
#include "daemon/unwinding/wanted_files.hpp"

namespace lagtrap::daemon {

struct StartedBeside {
    std::string program, started_as;
};
// From the texts behind a lagtrap_process: its program, and the other name in the same folder by
// which the program was started; nullopt if there is none. Symlinks elsewhere do not count, because
// anybody can create them.
[[nodiscard]] std::optional<StartedBeside> started_beside(std::string_view texts);

// Not thread-safe.
class MappedFileTable {
  public:
    // A file mapped by a process and by its forks.
    struct MappedFile {
        std::uint64_t id = 0;  // unique
        NamedMapping mapping;  // in one of the processes
        std::string build_id;  // lower-case hexadecimal; empty if unknown
        // The other path in the same folder by which the process's program was started
        // (redis-server is a symlink to redis-check-rdb); empty if there is none.
        std::string started_as;
        bool perhaps_started_as = false;  // suggested by the process's name, but not verified
        std::vector<std::uint32_t> pids;
    };
    struct Limits {
        std::size_t processes = 32'768;  // with something to track
        std::size_t files_of_process = 32;
        // Limit for everything together. No party except root may have more than a quarter of it
        // (user_shares.hpp).
        std::uint64_t total_bytes = 32ULL << 20;
    };
    // Assumed cost of a process, and of a file without its path.
    static constexpr std::uint64_t process_bytes = 1'024, file_bytes = 256;
    // nullopt if it is gone
    using FindParty = std::function<std::optional<Party>(std::uint32_t pid)>;

    MappedFileTable(Limits limits, FindParty find_party)
        : limits_(limits), find_party_(std::move(find_party)), room_(limits.total_bytes) {}

    // Sets the names of programs in the settings. True if some are new, so that earlier mappings
    // must be passed again. Forgets all processes if there are no names.
    bool want(const std::set<std::string>& names);
    // Takes mappings, forks, execs and exits; ignores other records.
    void take(const lagtrap_record* record);
    // Forgets all processes. The records of those that exist must follow.
    void begin_anew();
    // True if something changed since the last call.
    [[nodiscard]] bool take_change() { return std::exchange(changed_, false); }

    [[nodiscard]] std::vector<MappedFile> all() const;
    // Mappings and processes not tracked because of limits.
    [[nodiscard]] LeftOut left_out() const { return room_.left_out(); }
    [[nodiscard]] std::uint64_t used_bytes() const { return room_.used_bytes(); }

  private:
    struct File {
        std::uint64_t id = 0;
        lagtrap_mapping mapping{};
        std::string path, started_as;
        bool perhaps_started_as = false;
        Party party = root_party;  // whose room it takes; forks share it
        [[nodiscard]] std::uint64_t cost_bytes() const {
            return file_bytes + path.size() + started_as.size();
        }
    };
    using Files = std::vector<std::shared_ptr<const File>>;
    struct Process {
        Party party = root_party;
        Files files;
    };
    struct Starting {
        std::string program, started_as;  // as in /proc; empty if from an event
        Party party = root_party;
        [[nodiscard]] std::uint64_t cost_bytes() const {
            return file_bytes + program.size() + started_as.size();
        }
    };

    void note_program(const lagtrap_process& process);
    void add(const lagtrap_mapping& mapping);
    void fork(const lagtrap_task_change& change);
    [[nodiscard]] Process* process_of(std::uint32_t pid);
    void start(std::uint32_t pid, Starting starting);
    void forget_start(std::uint32_t pid);
    void let_go(Process& process);
    void forget(std::uint32_t pid);
    void forget_processes();
    void note_change() { changed_ = true; }

    const Limits limits_;
    const FindParty find_party_;
    WantedFiles names_;
    UserShares room_;
    std::map<std::uint32_t, Process> processes_;
    std::map<std::uint32_t, Starting> starting_;  // processes that will map their program next
    std::uint64_t last_id_ = 0;
    bool changed_ = false;
};

}  // namespace lagtrap::daemon
