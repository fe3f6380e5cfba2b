#include "daemon/events/shared_copies.hpp"

namespace lagtrap::daemon {

std::vector<CopyTable::Leaving> SharedCopies::use(MainFiles files, CopyTable::MainFiles known) {
    const std::lock_guard lock(mutex_);
    main_files_ = std::move(files);
    return table_.use(std::move(known));
}

std::vector<CopyTable::Leaving> SharedCopies::use(CopyTable::Processes processes) {
    const std::lock_guard lock(mutex_);
    table_.use(std::move(processes), Clock::now());
    return table_.take_unmapped(Clock::now());
}

std::uint32_t SharedCopies::add(CopyTable::Copy copy) {
    const std::lock_guard lock(mutex_);
    return table_.add(std::move(copy), Clock::now());
}

std::optional<CopyTable::Copy> SharedCopies::make_room(const CopyTable::Missing& missing) {
    const std::lock_guard lock(mutex_);
    if (!table_.make_room(missing)) return std::nullopt;
    return *table_.copy(missing.copy);
}

void SharedCopies::begin_attaching(const std::string& name) {
    const std::lock_guard lock(mutex_);
    attaching_.insert(name);
}

void SharedCopies::end_attaching(const std::string& name, const CopyTable::Missing& missing,
                                 const Status& armed, bool event_is_off) {
    const std::lock_guard lock(mutex_);
    attaching_.erase(attaching_.find(name));
    changed_.notify_all();
    if (!event_is_off) table_.note_armed(missing, armed, Clock::now());
}

Status SharedCopies::check_room(Party party) const {
    const std::lock_guard lock(mutex_);
    return table_.check_room(party);
}

void SharedCopies::note_left_out(Party party) {
    const std::lock_guard lock(mutex_);
    table_.note_left_out(party);
}

std::vector<CopyTable::Missing> SharedCopies::missing(Clock::time_point now) const {
    const std::lock_guard lock(mutex_);
    return table_.missing(now);
}

std::optional<SharedCopies::Clock::time_point> SharedCopies::next_change(
    Clock::time_point now) const {
    const std::lock_guard lock(mutex_);
    return table_.next_change(now);
}

bool SharedCopies::is_open(const RealFile& real) const {
    const std::lock_guard lock(mutex_);
    return table_.is_open(real);
}

bool SharedCopies::is_leaving(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return table_.is_leaving(name);
}

void SharedCopies::note_detached(const std::string& name) {
    const std::lock_guard lock(mutex_);
    table_.note_detached(name);
    changed_.notify_all();
}

void SharedCopies::note_left(std::uint32_t event) {
    const std::lock_guard lock(mutex_);
    table_.note_left(event);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> SharedCopies::leave_file(
    const std::string& name) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !table_.is_leaving(name) && !attaching_.contains(name); });
    return table_.leave_file(name);
}

bool SharedCopies::has_processes(const WatchedFile& main_file) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [file, real] : main_files_)
        if (file.get() == &main_file) return table_.has_processes(real);
    return false;
}

LeftOut SharedCopies::left_out() const {
    const std::lock_guard lock(mutex_);
    return table_.left_out();
}

EventCopies SharedCopies::describe(std::uint32_t event, bool armed) const {
    const std::lock_guard lock(mutex_);
    return table_.describe(event, armed);
}

}  // namespace lagtrap::daemon
