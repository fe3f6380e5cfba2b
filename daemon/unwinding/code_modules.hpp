// The files whose code processes have mapped, one entry for each file, and the unwind tables made of them: lazily, from
// the cache where it has them, given up when no process maps the file any more.
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
    LeftOut files_left_out;  // by user: beyond its share of all numbers
    LeftOut slow;            // by user: tables made after it had had much time (TableQueue)
    LeftOut given_up;        // by user: tables that gave way to users who had fewer
    LeftOut unreadable;      // by user: files on file systems that may not answer, and others that cannot be opened
};

struct UnreadableFile {
    std::string path;
    std::string problem;
};

// Not for several threads at once.
class CodeModules {
  public:
    using Clock = std::chrono::steady_clock;
    // `threads` make tables at once.
    explicit CodeModules(UnwindMemory& store, std::size_t threads = 1);

    // The module of a file that is mapped; a new one is queued for its table. nullptr: its user has too many files, or there
    // are too many in all.
    [[nodiscard]] std::shared_ptr<CodeModule> module_of(const CodeFileIdentity& identity, const NamedMapping& mapping,
                                                        const TableRequest& request);
    // The same of a file that a watched program will map; nobody need have mapped it yet. Between the two others, it takes the
    // place of all that were told before.
    void begin_watched() { kept_.begin_renewal(); }
    void add_watched(const CodeFileIdentity& identity, const NamedMapping& mapping, std::uint32_t user);
    void add_watched(const std::shared_ptr<CodeModule>& module) { kept_.want(module); }
    void end_watched() { kept_.end_renewal(); }
    // Its table is made before others', if it is not there: somebody waits for it.
    void hurry(const std::shared_ptr<CodeModule>& module, std::uint32_t user) { request_table(module, {user, true}); }
    // What a file was the last time that the kernel told the same of it, build id included: to be taken for it until somebody has
    // looked. Only where root alone can have written that file; nullptr: not known.
    [[nodiscard]] std::shared_ptr<CodeModule> module_told(const std::string& told) const;
    void note_told(const std::string& told, const std::shared_ptr<CodeModule>& module);
    // Of what is mapped and is no file: nullptr but for the vDSO.
    [[nodiscard]] std::shared_ptr<CodeModule> module_of_kernel(const std::string& name);
    // A file of which nobody can tell what it is.
    void count_unreadable(const std::string& path, const Error& error, std::uint32_t user);

    [[nodiscard]] std::optional<TableJob> next_job();
    [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
    [[nodiscard]] bool had_much(std::uint32_t user) const { return queue_.had_much(user, Clock::now()); }
    // Takes a table in. If there is no room, those of files that nobody maps give way, then those of users who have more; for
    // one that is to be kept all give way that are not.
    void take(MadeTable made);
    // Gives up what nobody has mapped for a while; queues what could not be read, if files can be read again. After the
    // spaces were written: numbers that they no longer have are given out again.
    void sweep(Clock::time_point now);

    // All modules' users, to be told anew (CodeModule::users).
    void forget_users();

    // Changes whenever spaces have to be written anew.
    [[nodiscard]] std::uint64_t generation() const { return generation_; }
    [[nodiscard]] ModuleTotals totals() const;
    // Those that are not thrown out for others.
    [[nodiscard]] std::set<const CodeModule*> kept() const { return kept_.within(store_.budget_bytes()); }
    [[nodiscard]] const std::deque<UnreadableFile>& unreadable() const { return unreadable_; }
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [key, module] : by_key_) visit(*module);
    }

  private:
    [[nodiscard]] std::shared_ptr<CodeModule> new_module(const std::string& key, const std::string& path,
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
    UserShares numbers_;  // of tables
    KeptTables kept_;
    std::map<std::string, std::shared_ptr<CodeModule>> by_key_;
    std::map<std::string, std::weak_ptr<StoredTable>> by_digest_;
    std::map<std::string, std::weak_ptr<CodeModule>> by_told_;
    std::vector<std::shared_ptr<StoredTable>> retired_;  // spaces may still have their numbers
    TableQueue queue_;
    std::deque<TableJob> postponed_;
    std::deque<UnreadableFile> unreadable_;  // the last ones
    ModuleTotals totals_;
    std::uint64_t generation_ = 0;
};

}  // namespace lagtrap::daemon
