#include "daemon/unwinding/mapped_files.hpp"

#include <utility>

#include "daemon/unwinding/process_table.hpp"

namespace lagtrap::daemon {

MappedFiles::MappedFiles() : MappedFiles(Limits{}, find_user) {}

bool MappedFiles::want(const std::set<std::string>& names) {
    const std::lock_guard lock(mutex_);
    const bool some_new = table_.want(names);
    wanted_.store(!names.empty());
    if (names.empty() && before_scan_) before_scan_->clear();
    return some_new;
}

std::uint64_t MappedFiles::subscribe(std::function<void()> changed) {
    const std::lock_guard lock(callback_mutex_);
    const std::uint64_t subscriber = subscribers_.empty() ? 1 : subscribers_.rbegin()->first + 1;
    subscribers_[subscriber] = std::move(changed);
    return subscriber;
}

void MappedFiles::unsubscribe(std::uint64_t subscriber) {
    const std::lock_guard lock(callback_mutex_);
    subscribers_.erase(subscriber);
}

void MappedFiles::take(const lagtrap_record* record) {
    if (!wanted_.load()) return;
    const std::lock_guard lock(mutex_);
    table_.take(record);
}

void MappedFiles::done() {
    {
        const std::lock_guard lock(mutex_);
        if (before_scan_ || !table_.take_change()) return;
        ++version_;
    }
    const std::lock_guard lock(callback_mutex_);
    for (const auto& [subscriber, changed] : subscribers_) changed();
}

void MappedFiles::begin_scan() {
    const std::lock_guard lock(mutex_);
    if (!before_scan_) before_scan_ = table_.all();
    table_.begin_anew();
}

void MappedFiles::end_scan() {
    const std::lock_guard lock(mutex_);
    before_scan_.reset();
}

LeftOut MappedFiles::left_out() const {
    const std::lock_guard lock(mutex_);
    return table_.left_out();
}

std::uint64_t MappedFiles::used_bytes() const {
    const std::lock_guard lock(mutex_);
    return table_.used_bytes();
}

std::vector<MappedFiles::MappedFile> MappedFiles::all() const {
    const std::lock_guard lock(mutex_);
    return before_scan_ ? *before_scan_ : table_.all();
}

}  // namespace lagtrap::daemon
