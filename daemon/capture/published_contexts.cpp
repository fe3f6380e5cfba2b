#include "daemon/capture/published_contexts.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "core/clock.hpp"
#include "daemon/capture/context_records.hpp"
#include "daemon/processes/inspector_pool.hpp"
#include "daemon/processes/process_scan.hpp"

namespace lagtrap::daemon {

PublishedContexts::PublishedContexts(ContextPlaces& places, ProcessInspector& inspector,
                                     std::vector<std::string> attributes)
    : places_(places), attributes_(std::move(attributes)), finder_(inspector) {
    thread_ = std::thread([this] { work(); });
}

PublishedContexts::~PublishedContexts() {
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
    }
    more_.notify_one();
    thread_.join();
}

void PublishedContexts::look(std::uint32_t first_pid) {
    {
        const std::scoped_lock lock(mutex_);
        wanted_ = first_pid;
    }
    more_.notify_one();
}

RecordBuffer PublishedContexts::take_keys() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(keys_, RecordBuffer());
}

void PublishedContexts::work() {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 0);
    const InspectionsCancelled inspections_cancelled(ending_);
    std::unique_lock lock(mutex_);
    for (;;) {
        more_.wait(lock, [this] { return ending_ || wanted_; });
        if (ending_) return;
        const std::uint32_t first_pid = *std::exchange(wanted_, std::nullopt);
        keys_ = RecordBuffer();  // of an earlier recording
        lock.unlock();
        look_at_processes(first_pid);
        lock.lock();
    }
}

void PublishedContexts::look_at_processes(std::uint32_t first_pid) {
    const std::set<std::uint32_t> running = list_processes("/proc");
    std::set<std::uint32_t> publishing;
    for (const std::uint32_t pid : looks_.due(running, first_pid, monotonic_ns())) {
        if (ending_) return;
        const bool publishes = look_at(pid);
        looks_.note(pid, publishes, monotonic_ns());
        if (publishes) publishing.insert(pid);
        // Its threads may pass on what they wait for before the others have been looked at.
        if (publishes && pid == first_pid) places_.record_sleeping();
    }
    places_.keep_only(publishing);
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(known_keys_,
                      [&](const auto& one) { return !publishing.contains(one.first); });
    }
    if (!publishing.empty()) places_.record_sleeping();
}

// The names first: records may come as soon as the place is known.
bool PublishedContexts::look_at(std::uint32_t pid) {
    auto found = finder_.find(pid);
    std::unique_lock lock(mutex_);
    if (!found) {
        known_keys_.erase(pid);
        return false;
    }
    const auto& keys = known_keys_[pid] = wanted_keys(std::move(found->keys), attributes_);
    keys_.append(context_keys_record(pid, keys, monotonic_ns()));
    lock.unlock();
    places_.set(pid, found->place);
    return true;
}

RecordBuffer PublishedContexts::wanted_part(const lagtrap_context& record) {
    static const std::vector<std::string> none;
    const std::scoped_lock lock(mutex_);
    const auto keys = known_keys_.find(record.pid);
    return context_record(record, keys == known_keys_.end() ? none : keys->second);
}

}  // namespace lagtrap::daemon
