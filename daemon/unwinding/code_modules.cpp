#include "daemon/unwinding/code_modules.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "binaries/reader/file_reader.hpp"
#include "daemon/kernel/block_allocator.hpp"
#include "daemon/processes/mapping_build_id.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto unused_limit = 10s;
constexpr auto min_pause = 1s;
constexpr auto max_pause = 64s;
constexpr std::size_t unreadable_limit = 10;

// Identifies the file, in characters that are allowed in file names. For files that others than
// root can write, each user gets their own key, because what the owner puts in must not affect
// others.
std::string key_of(const CodeFileIdentity& identity) {
    return fmt::format("{:x}-{:x}-{:x}-{:x}", identity.device, identity.inode, identity.size_bytes,
                       identity.changed_ns);
}

std::string key_of(const CodeFileIdentity& identity, std::uint32_t user) {
    return key_of(identity) + fmt::format("-u{}", user);
}

}  // namespace

CodeModules::CodeModules(UnwindMemory& store, std::size_t threads)
    : store_(store), numbers_(LAGTRAP_UNWIND_MAX_TABLES), queue_(threads) {}

std::shared_ptr<CodeModule> CodeModules::new_module(const std::string& key, const std::string& path,
                                                    std::uint32_t user) {
    if (!numbers_.take(user, 1)) return nullptr;
    const auto table = store_.new_table();
    if (!table) {
        numbers_.give_back(user, 1);
        numbers_.count_left_out(user, 1);
        return nullptr;
    }
    auto module = std::make_shared<CodeModule>();
    module->key = key;
    module->path = path;
    module->charged_user = user;
    module->table = *table;
    module->stored = std::make_shared<StoredTable>(store_, *table);
    return by_key_[key] = module;
}

std::shared_ptr<CodeModule> CodeModules::module_of(const CodeFileIdentity& identity,
                                                   const NamedMapping& mapping,
                                                   const TableRequest& request) {
    // If only root can have written it, it is the same file through any mount.
    auto known = by_key_.find(key_of(identity));
    const bool own = known == by_key_.end() && !identity.only_root_writes;
    const std::string key = own ? key_of(identity, request.user) : key_of(identity);
    if (own) known = by_key_.find(key);
    auto module =
        known != by_key_.end() ? known->second : new_module(key, mapping.path, request.user);
    if (!module) return nullptr;
    if (known == by_key_.end()) {
        module->identity = identity;
        module->kept_on_disk = identity.only_root_writes;
    }
    if (module->build_id.empty()) module->build_id = build_id_of(mapping.mapping);
    module->users.insert(request.user);
    module->reachable = mapping;
    if (request.watched) kept_.want(module);
    request_table(module, request);
    return module;
}

void CodeModules::add_watched(const CodeFileIdentity& identity, const NamedMapping& mapping,
                              std::uint32_t user) {
    const auto known = by_key_.find(key_of(identity));
    const bool mapped = known != by_key_.end() && known->second.use_count() > 1;
    const NamedMapping reachable = mapped ? known->second->reachable : mapping;
    (void)module_of(identity, reachable, {identity.only_root_writes ? 0 : user, true});
}

std::shared_ptr<CodeModule> CodeModules::module_reported(const std::string& reported) const {
    const auto known = by_reported_.find(reported);
    return known == by_reported_.end() ? nullptr : known->second.lock();
}

void CodeModules::note_reported(const std::string& reported,
                                const std::shared_ptr<CodeModule>& module) {
    if (reported.empty() || !module || !module->kept_on_disk) return;
    if (by_reported_.contains(reported) || by_reported_.size() < LAGTRAP_UNWIND_MAX_TABLES)
        by_reported_[reported] = module;
}

std::shared_ptr<CodeModule> CodeModules::module_of_kernel(const std::string& name) {
    if (name != vdso_path) return nullptr;
    const auto known = by_key_.find(name);
    auto module = known != by_key_.end() ? known->second : new_module(name, name, 0);
    if (module) request_table(module, {});
    return module;
}

void CodeModules::request_table(const std::shared_ptr<CodeModule>& module,
                                const TableRequest& request) {
    module->last_used = Clock::now();
    if (module->state != ModuleState::Waiting) return;
    // If several users request it, it is made when the first of them has its turn.
    const bool new_user = module->waiting_users.insert(request.user).second;
    const bool sooner = request.watched && !module->watched_waits;
    if (!module->queued || new_user || sooner) queue(module, request);
}

void CodeModules::queue(const std::shared_ptr<CodeModule>& module, const TableRequest& request) {
    module->queued = true;
    module->waiting_users.insert(request.user);
    if (request.watched) module->watched_waits = true;
    TableJob job;
    job.module = module;
    job.request = request;
    job.mapping = module->reachable;
    job.identity = module->identity;
    job.key = module->key;
    job.build_id = module->build_id;
    job.kept_on_disk = module->kept_on_disk;
    queue_.add(std::move(job));
}

void CodeModules::count_unreadable(const std::string& path, const Error& error,
                                   std::uint32_t user) {
    if (error.kind == ErrorKind::Vanished || error.kind == ErrorKind::NotFound ||
        error.kind == ErrorKind::Denied)
        return;
    if (totals_.unreadable.contains(user) || totals_.unreadable.size() < UserShares::counted_users)
        ++totals_.unreadable[user];
    if (std::any_of(unreadable_.begin(), unreadable_.end(),
                    [&](const auto& file) { return file.path == path; }))
        return;
    unreadable_.push_back({path, error.message});
    if (unreadable_.size() > unreadable_limit) unreadable_.pop_front();
}

std::optional<TableJob> CodeModules::next_job() {
    const auto now = Clock::now();
    while (auto job = queue_.next(now)) {
        // It was made in another user's turn.
        if (job->module->state == ModuleState::Waiting || job->module->state == ModuleState::NoRoom)
            return job;
        queue_.done(job->request.user, {}, now);
    }
    return std::nullopt;
}

void CodeModules::take(MadeTable made) {
    CodeModule& module = *made.module;
    const auto now = Clock::now();
    queue_.done(made.request.user, made.took, now);
    if (queue_.had_much(made.request.user, now) &&
        (totals_.slow.contains(made.request.user) ||
         totals_.slow.size() < UserShares::counted_users))
        ++totals_.slow[made.request.user];
    if (made.again) {
        made.again->pause =
            std::clamp<Clock::duration>(made.again->pause * 2, min_pause, max_pause);
        made.again->next_try = now + made.again->pause;
        postponed_.push_back(std::move(*made.again));
        return;
    }
    module.queued = false;
    module.watched_waits = false;
    module.waiting_users.clear();
    // it was made in two users' turns at the same time
    if (module.state == ModuleState::Ready) return;
    (made.from_cache ? totals_.from_cache : totals_.made) += 1;
    (made.from_cache ? totals_.from_cache_cpu_ns : totals_.make_cpu_ns) += made.cpu_ns;
    if (module.build_id.empty()) module.build_id = made.build_id;
    module.problem = made.problem;
    if (made.table) return take_table(module, made);
    module.state = made.state;
    // It may be that of a file that was mapped there before.
    if (made.state == ModuleState::Waiting) module.build_id.clear();
    if (made.state == ModuleState::Failed) {
        ++totals_.failed;
        unreadable_.push_back({module.path, made.problem});
        if (unreadable_.size() > unreadable_limit) unreadable_.pop_front();
    }
    store_.set_state(module.table,
                     made.state == ModuleState::FramePointers ? LAGTRAP_UNWIND_TABLE_FRAME_POINTERS
                     : made.state == ModuleState::NoRoom      ? LAGTRAP_UNWIND_TABLE_NO_ROOM
                                                              : LAGTRAP_UNWIND_TABLE_MISSING);
}

// Identical tables of two copies of a file share memory. Only the content of the table shows this.
bool CodeModules::share_content(CodeModule& module, const std::string& digest) {
    auto same = by_digest_[digest].lock();
    if (!same) return false;
    if (same != module.stored) retired_.push_back(std::exchange(module.stored, std::move(same)));
    module.table = module.stored->number;
    return true;
}

void CodeModules::take_table(CodeModule& module, MadeTable& made) {
    module.segments = std::move(made.table->segments);
    module.base_address = made.table->base_address;
    module.table_bytes = made.table->size_bytes();
    module.state = ModuleState::Ready;
    ++generation_;
    if (share_content(module, made.digest)) return;
    if (store_.fill(module.table, *made.table)) {
        by_digest_[made.digest] = module.stored;
        return;
    }
    // Blocks that are released now can be reused after they have rested.
    set_no_room(module, Clock::now() + BlockAllocator::usual_rest);
    while (give_up_one(Clock::now())) {
    }
    (void)make_room(module);
}

void CodeModules::set_no_room(CodeModule& module, Clock::time_point next_try) {
    module.state = ModuleState::NoRoom;
    module.next_try = next_try;
    store_.set_state(module.table, LAGTRAP_UNWIND_TABLE_NO_ROOM);
}

// Drops the table that has been unused longest. False if all are in use.
bool CodeModules::give_up_one(Clock::time_point unused_since) {
    const auto kept = this->kept();
    auto oldest = by_key_.end();
    for (auto place = by_key_.begin(); place != by_key_.end(); ++place) {
        const CodeModule& module = *place->second;
        if (place->second.use_count() > 1 || module.queued || module.last_used > unused_since)
            continue;
        if (kept.contains(&module)) continue;
        if (oldest == by_key_.end() || module.last_used < oldest->second->last_used) oldest = place;
    }
    if (oldest == by_key_.end()) return false;
    numbers_.give_back(oldest->second->charged_user, 1);
    by_key_.erase(oldest);
    return true;
}

std::map<std::uint32_t, std::uint64_t> CodeModules::bytes_by_user() const {
    std::map<std::uint32_t, std::uint64_t> bytes;
    for (const auto& [key, module] : by_key_)
        if (module->state == ModuleState::Ready)
            for (const std::uint32_t user : module->users) bytes[user] += module->table_bytes;
    return bytes;
}

// Drops tables of users who have more than the user who needs room would have, largest first.
// Root's tables stay, unless the new table is to be kept.
bool CodeModules::make_room(const CodeModule& for_module) {
    auto bytes = bytes_by_user();
    std::uint64_t needed_bytes = for_module.table_bytes, min_had_bytes = ~0ULL;
    for (const std::uint32_t user : for_module.users)
        min_had_bytes = std::min(min_had_bytes, bytes[user]);
    const auto kept = this->kept();
    const bool comes_first = kept.contains(&for_module);
    if (for_module.users.empty() && !comes_first) return false;
    std::vector<CodeModule*> candidates;
    for (const auto& [key, module] : by_key_) {
        const bool taken = module->state == ModuleState::Ready && module->stored.use_count() == 1 &&
                           !module->users.empty();
        if (taken && !kept.contains(module.get()) && (comes_first || !module->users.contains(0)))
            candidates.push_back(module.get());
    }
    std::sort(candidates.begin(), candidates.end(),
              [](auto* a, auto* b) { return a->table_bytes > b->table_bytes; });
    for (CodeModule* const module : candidates) {
        if (needed_bytes == 0) break;
        const bool have_more =
            comes_first ||
            std::all_of(module->users.begin(), module->users.end(), [&](std::uint32_t user) {
                return bytes[user] > min_had_bytes + for_module.table_bytes;
            });
        const auto number = have_more ? store_.new_table() : std::nullopt;
        if (!number) continue;
        for (const std::uint32_t user : module->users) {
            bytes[user] -= module->table_bytes;
            if (totals_.given_up.contains(user) ||
                totals_.given_up.size() < UserShares::counted_users)
                ++totals_.given_up[user];
        }
        needed_bytes -= std::min(needed_bytes, module->table_bytes);
        retired_.push_back(
            std::exchange(module->stored, std::make_shared<StoredTable>(store_, *number)));
        module->table = *number;
        set_no_room(*module, Clock::now() + unused_limit);
        ++generation_;
    }
    return needed_bytes == 0;
}

void CodeModules::forget_users() {
    for (const auto& [key, module] : by_key_) module->users.clear();
}

void CodeModules::sweep(Clock::time_point now) {
    retired_.clear();
    std::erase_if(by_digest_, [](const auto& entry) { return entry.second.expired(); });
    std::erase_if(by_reported_, [](const auto& entry) { return entry.second.expired(); });
    for (const auto& [key, module] : by_key_)
        if (module.use_count() > 1) module->last_used = now;
    while (give_up_one(now - unused_limit)) {
    }
    if (const auto* const reader = binaries::file_reader();
        reader == nullptr || reader->may_start()) {
        std::deque<TableJob> waiting;
        for (TableJob& job : postponed_)
            if (job.next_try <= now)
                queue_.add(std::move(job));
            else
                waiting.push_back(std::move(job));
        postponed_ = std::move(waiting);
    }
    // There may be room now for tables that had none. They are in the cache, or are made again.
    for (const auto& [key, module] : by_key_) {
        const bool room = store_.used_bytes() + module->table_bytes < store_.budget_bytes();
        if (module->state != ModuleState::NoRoom || module->queued || !room ||
            now < module->next_try)
            continue;
        module->next_try = now + unused_limit;
        queue(module, {module->charged_user, false});
    }
}

std::size_t CodeModules::tables_to_come() const {
    const auto comes = [](const auto& entry) {
        const std::shared_ptr<CodeModule>& module = entry.second;
        return module->state == ModuleState::Waiting && (module->queued || module.use_count() > 1);
    };
    return static_cast<std::size_t>(std::count_if(by_key_.begin(), by_key_.end(), comes));
}

ModuleTotals CodeModules::totals() const {
    ModuleTotals totals = totals_;
    totals.files_left_out = numbers_.left_out();
    return totals;
}

}  // namespace lagtrap::daemon
