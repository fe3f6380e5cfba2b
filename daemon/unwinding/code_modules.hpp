// The files that processes have mapped as code, one entry per file, and their unwind tables. Tables
// are made on demand, come from the cache if possible, and are dropped when no process maps the
// file any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/user_shares.hpp"
#include "daemon/unwinding/code_module.hpp"
#include "daemon/unwinding/kept_tables.hpp"
#include "daemon/unwinding/table_queue.hpp"
#include "daemon/unwinding/unwind_memory.hpp"

namespace lagtrap::daemon {

struct ModuleTotals {
    std::uint64_t made = 0;
    std::uint64_t from_cache = 0;
    std::uint64_t failed = 0;
    std::uint64_t make_cpu_ns = 0;
    std::uint64_t from_cache_cpu_ns = 0;
    LeftOut files_left_out;  // by user: beyond its share of table numbers
    LeftOut slow;            // by user: tables made after the user had used much time (TableQueue)
    LeftOut given_up;        // by user: tables that made room for users with fewer
    // by user: files on file systems that may not answer, and others that cannot be opened
    LeftOut unreadable;
};

struct UnreadableFile {
    std::string path;
    std::string problem;
};

// Not thread-safe.
class CodeModules {
  public:
    using Clock = std::chrono::steady_clock;
    // `threads` is the number of tables made in parallel.
    explicit CodeModules(UnwindMemory& store, std::size_t threads = 1);

    // The module of a mapped file. For a new one, a table is requested. nullptr: its user has too
    // many files, or there are too many in total.
    [[nodiscard]] std::shared_ptr<CodeModule> module_of(const CodeFileIdentity& identity,
                                                        const NamedMapping& mapping,
                                                        const TableRequest& request);
    // The module of a file that a watched program will map; no process needs to map it yet. The
    // calls between begin_watched() and end_watched() replace all earlier ones.
    void begin_watched() { kept_.begin_renewal(); }
    void add_watched(const CodeFileIdentity& identity, const NamedMapping& mapping,
                     std::uint32_t user);
    void add_watched(const std::shared_ptr<CodeModule>& module) { kept_.want(module); }
    void end_watched() { kept_.end_renewal(); }
    // Requests its table before others', because somebody waits for it.
    void prioritize(const std::shared_ptr<CodeModule>& module, std::uint32_t user) {
        request_table(module, {user, true});
    }
    // The module that the kernel last described in the same way, including the build id. Assume
    // that until the file was inspected. Only for files that only root can have written; nullptr if
    // unknown.
    [[nodiscard]] std::shared_ptr<CodeModule> module_reported(const std::string& reported) const;
    void note_reported(const std::string& reported, const std::shared_ptr<CodeModule>& module);
    // The module for mapped memory that is not a file: nullptr except for the vDSO.
    [[nodiscard]] std::shared_ptr<CodeModule> module_of_kernel(const std::string& name);
    // Counts a file that cannot be identified.
    void count_unreadable(const std::string& path, const Error& error, std::uint32_t user);

    [[nodiscard]] std::optional<TableJob> next_job();
    [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
    // Tables that are still to be made. A file that could not be read, and that nobody maps any
    // more, has none to come.
    [[nodiscard]] std::size_t tables_to_come() const;
    [[nodiscard]] bool had_much(std::uint32_t user) const {
        return queue_.had_much(user, Clock::now());
    }
    // Stores a finished table. If there is no room, drops tables of files that nobody maps, then
    // those of users who have more. For a table that is to be kept, drops any others.
    void take(MadeTable made);
    // Drops tables that nobody has mapped for a while, and queues files that could not be read, if
    // that is possible again. Call it after the spaces were written, because table numbers are
    // reused.
    void sweep(Clock::time_point now);

    // Clears CodeModule::users of all modules, to be set again.
    void forget_users();

    // Changes whenever spaces must be written again.
    [[nodiscard]] std::uint64_t generation() const { return generation_; }
    [[nodiscard]] ModuleTotals totals() const;
    // Tables that are not dropped for others.
    [[nodiscard]] std::set<const CodeModule*> kept() const {
        return kept_.within(store_.budget_bytes());
    }
    [[nodiscard]] const std::deque<UnreadableFile>& unreadable() const { return unreadable_; }
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [key, module] : by_key_) visit(*module);
    }

  private:
    [[nodiscard]] std::shared_ptr<CodeModule> new_module(const std::string& key,
                                                         const std::string& path,
                                                         std::uint32_t user);
    void request_table(const std::shared_ptr<CodeModule>& module, const TableRequest& request);
    void queue(const std::shared_ptr<CodeModule>& module, const TableRequest& request);
    void take_table(CodeModule& module, MadeTable& made);
    [[nodiscard]] bool share_content(CodeModule& module, const std::string& digest);
    void set_no_room(CodeModule& module, Clock::time_point next_try);
    [[nodiscard]] bool give_up_one(Clock::time_point unused_since);
    [[nodiscard]] bool make_room(const CodeModule& for_module);
    [[nodiscard]] std::map<std::uint32_t, std::uint64_t> bytes_by_user() const;

    UnwindMemory& store_;
    UserShares numbers_;  // of table numbers
    KeptTables kept_;
    std::map<std::string, std::shared_ptr<CodeModule>> by_key_;
    std::map<std::string, std::weak_ptr<StoredTable>> by_digest_;
    std::map<std::string, std::weak_ptr<CodeModule>> by_reported_;
    std::vector<std::shared_ptr<StoredTable>> retired_;  // spaces may still use their numbers
    TableQueue queue_;
    std::deque<TableJob> postponed_;
    std::deque<UnreadableFile> unreadable_;  // the last ones
    ModuleTotals totals_;
    std::uint64_t generation_ = 0;
};

}  // namespace lagtrap::daemon
