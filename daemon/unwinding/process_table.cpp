#include "daemon/unwinding/process_table.hpp"

#include <string>
#include <utility>

#include "daemon/processes/process_party.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// a process that exits before then belongs to its parent's user
constexpr auto first_user_look = 100ms;
constexpr auto user_lifetime = 10s;

}  // namespace

std::optional<Party> find_user(std::uint32_t pid) {
    const auto user = read_party("/proc/" + std::to_string(pid));
    return user ? std::optional(*user) : std::nullopt;
}

ProcessTable::ProcessTable(UnwindMemory& store, FindUser find_user, std::uint64_t total_bytes)
    : store_(store), find_user_(std::move(find_user)), room_(total_bytes) {}

void ProcessTable::begin_anew() {
    store_.drop_all_processes();
    for (auto& [pid, process] : processes_)
        process = Process{new_space(pid), nullptr, 0, process.user, {}};
}

bool ProcessTable::publish(std::uint32_t pid, Process& process) {
    const auto& place = process.space->place;
    if (!place) return true;
    if (process.published == process.space && process.first_block == place->first_block)
        return true;
    const bool has_room = store_.set_process(pid, *place);
    process.published = process.space;
    process.first_block = place->first_block;
    return has_room;
}

ProcessTable::Process* ProcessTable::find(std::uint32_t pid) {
    const auto found = processes_.find(pid);
    return found != processes_.end() && found->second.space ? &found->second : nullptr;
}

const ProcessTable::Process* ProcessTable::find(std::uint32_t pid) const {
    const auto found = processes_.find(pid);
    return found != processes_.end() && found->second.space ? &found->second : nullptr;
}

Party ProcessTable::user_now(std::uint32_t pid) const {
    return find_user_(pid).value_or(unknown_party);
}

void ProcessTable::note_user(std::uint32_t pid) { processes_[pid].user = user_now(pid); }

Party ProcessTable::user_of(std::uint32_t pid, Process& process) const {
    if (!process.user) process.user = find_user_(pid);
    return process.user.value_or(unknown_party);
}

std::shared_ptr<CodeSpace> ProcessTable::new_space(std::uint32_t pid) {
    return std::make_shared<CodeSpace>(store_, room_, user_of(pid, processes_[pid]));
}

CodeSpace& ProcessTable::own_space(std::uint32_t pid) {
    Process& process = processes_[pid];
    const long own_uses = process.published == process.space ? 2 : 1;
    if (process.space && process.space.use_count() == own_uses) return *process.space;
    auto copy = new_space(pid);
    if (process.space) copy->copy(*process.space);
    process.space = std::move(copy);
    return *process.space;
}

void ProcessTable::fork(const lagtrap_task_change& change) {
    if (change.pid == change.parent_pid || change.pid != change.tid) return;  // a thread
    const auto parent = processes_.find(change.parent_pid);
    auto space = parent != processes_.end() ? parent->second.space : nullptr;
    const auto user = parent != processes_.end() ? parent->second.user : std::nullopt;
    Process& child = processes_[change.pid];
    child.user = user;
    child.space = space ? std::move(space) : new_space(change.pid);
}

// The owner is final by now, because programs that start others for a user change to that user
// before exec.
void ProcessTable::exec(std::uint32_t pid) {
    Process& process = processes_[pid];
    if (const auto user = find_user_(pid)) process.user = user;
    process.space = new_space(pid);
}

void ProcessTable::end(std::uint32_t pid) {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return;
    // during a capture, the kernel side knows children before they are published here
    store_.drop_process(pid);
    processes_.erase(found);
}

// Programs that start as root may change to another user.
void ProcessTable::refresh_user(std::uint32_t pid, Process& process, Clock::time_point now) {
    if (now < process.next_look_at_user) return;
    const bool is_new = process.next_look_at_user == Clock::time_point();
    process.next_look_at_user = now + (is_new ? first_user_look : user_lifetime);
    if (!is_new) look_at_user(pid, process);
}

void ProcessTable::look_at_user(std::uint32_t pid, Process& process) {
    const auto user = find_user_(pid);
    if (!user) return;
    process.user = user;
    process.space->change_user(*user);
}

}  // namespace lagtrap::daemon
