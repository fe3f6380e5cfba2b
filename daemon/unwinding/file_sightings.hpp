// Which processes have files mapped that the settings mean, or files of their names: in whatever view of the file system.
// Told by the unwinder, which follows what all processes map.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/records.h"
#include "core/party.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/user_shares.hpp"

namespace lagtrap::daemon {

struct StartedBeside {
    std::string program, started_as;
};
// From the texts behind a lagtrap_process: its program, and the other of its file's names in the same folder by which it was
// started; nullopt: there is none. A link that lies elsewhere may be anybody's, and does not count.
[[nodiscard]] std::optional<StartedBeside> started_beside(std::string_view texts);

// Free to be used from any thread.
class FileSightings {
  public:
    // A mapping of a file by a process, and by those that it forked off.
    struct Sighting {
        std::uint64_t id = 0;  // of no other one
        NamedMapping mapping;  // of one of the processes
        std::string build_id;  // in lower-case hexadecimal; empty: not known
        // The program of a process that was started by another of its file's names, beside it (redis-server is a link to
        // redis-check-rdb): that path; empty: it was not.
        std::string started_as;
        bool perhaps_started_as = false;  // the process's name says so; nobody looked
        std::vector<std::uint32_t> pids;
    };
    struct Limits {
        std::size_t processes = 32'768;  // with something to be noted
        std::size_t files_of_process = 32;
        // Of all that is noted, at most; no party but root has more than a quarter of it (user_shares.hpp).
        std::uint64_t total_bytes = 32ULL << 20;
    };
    // What a process is reckoned with, beside its files and their paths.
    static constexpr std::uint64_t process_bytes = 1'024, file_bytes = 256;
    using FindParty = std::function<std::optional<Party>(std::uint32_t pid)>;  // nullopt: it is gone
    FileSightings();
    FileSightings(Limits limits, FindParty find_party)
        : limits_(limits), find_party_(std::move(find_party)), room_(limits.total_bytes) {}

    // Names of programs as the settings have them. True: some are new, so mappings from before are to be told again.
    bool want(const std::set<std::string>& names);
    [[nodiscard]] bool wants_any() const { return wanted_.load(); }
    // `changed` is called after something changed, by done(), on the thread that told it; it must not wait. Gives what
    // unsubscribe() takes: after that it is called no more.
    [[nodiscard]] std::uint64_t subscribe(std::function<void()> changed);
    void unsubscribe(std::uint64_t subscriber);

    // What a process maps, forks off, becomes, and its end. Whether anything changed is said by done().
    void take(const lagtrap_record* record);
    // What was taken up to now belongs together.
    void done();
    // Everything is told anew.
    void forget_all();

    [[nodiscard]] std::vector<Sighting> all() const;
    // Goes up with each change.
    [[nodiscard]] std::uint64_t version() const { return version_.load(); }
    // Mappings and processes that were not noted, for want of room.
    [[nodiscard]] LeftOut left_out() const;
    [[nodiscard]] std::uint64_t used_bytes() const;

  private:
    struct File {
        std::uint64_t id = 0;
        lagtrap_mapping mapping{};
        std::string path, started_as;
        bool perhaps_started_as = false;
        Party party = root_party;  // whose room it takes; forks of the process share it
        [[nodiscard]] std::uint64_t cost_bytes() const { return file_bytes + path.size() + started_as.size(); }
    };
    using Files = std::vector<std::shared_ptr<const File>>;
    struct Process {
        Party party = root_party;
        Files files;
    };
    struct Starting {
        std::string program, started_as;  // as /proc told; empty: by an event
        Party party = root_party;
        [[nodiscard]] std::uint64_t cost_bytes() const { return file_bytes + program.size() + started_as.size(); }
    };
    [[nodiscard]] bool is_wanted(const lagtrap_mapping& mapping, std::string_view path) const;
    [[nodiscard]] bool is_wanted_name(std::string_view thread_name) const;
    void want_files_of(std::string_view package);
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
    std::atomic<bool> wanted_{false};
    const FindParty find_party_;
    std::atomic<std::uint64_t> version_{0};
    mutable std::mutex mutex_;
    std::set<std::string> names_;                    // as the settings have them
    std::set<std::string, std::less<>> file_names_;  // their last parts, of those without * and ?
    std::vector<std::string> patterns_;              // whose last parts have some
    std::set<std::string, std::less<>> build_ids_;   // in lower-case hexadecimal
    UserShares room_;
    std::map<std::uint32_t, Process> processes_;
    std::map<std::uint32_t, Starting> starting_;  // processes whose program is mapped next
    std::uint64_t last_id_ = 0;
    bool changed_ = false;
    std::mutex callback_mutex_;
    std::map<std::uint64_t, std::function<void()>> subscribers_;
};

}  // namespace lagtrap::daemon
