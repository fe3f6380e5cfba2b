#include "daemon/capture/rundown.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "daemon/capture/recorder_rules.hpp"
#include "daemon/kernel/iterator.hpp"
#include "daemon/processes/inspector_pool.hpp"

namespace lagtrap::daemon {
namespace {

// Each started program is read individually. A complete list matters less than the load of reading
// it, so limit it.
constexpr std::size_t max_started = 2'000;

CodeRundownLimits limits_within(std::uint64_t code_limit_bytes) {
    CodeRundownLimits limits;
    limits.total_bytes = std::min(limits.total_bytes, code_limit_bytes);
    return limits;
}

}  // namespace

Rundown::Rundown(bpf_program* threads, std::uint32_t first_pid,
                 std::filesystem::path capture_directory, std::uint64_t code_limit_bytes,
                 ContainerNames* names)
    : code_(std::move(capture_directory), limits_within(code_limit_bytes)), names_(names) {
    thread_ = std::thread([this, threads, first_pid] { work(threads, first_pid); });
}

Rundown::~Rundown() { finish(); }

void Rundown::name_container(const lagtrap_record* record) {
    if (names_ == nullptr || record->type != LAGTRAP_RECORD_PROCESS) return;
    const auto& process = *reinterpret_cast<const lagtrap_process*>(record);
    const std::string id = container_of(process);
    if (id.empty() || containers_.size() >= trace::session_containers_limit ||
        containers_.contains(id))
        return;
    containers_[id] = names_->name_of(id);
}

void Rundown::work(bpf_program* threads, std::uint32_t first_pid) {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 0);
    const InspectionsCancelled inspections_cancelled(given_up_);
    ProcessScan scan;
    const auto follow_code = [&] {
        scan.records().for_each([this](const auto* record) { code_.take(record); });
    };
    if (first_pid != 0) scan.add(first_pid);
    follow_code();
    if (first_pid != 0) group_memory_ = read_group_memory(first_pid);
    run_iterator(threads, 0);
    scan.add_others(ProcessScan::Code::Known);
    scan.records().for_each([this](const lagtrap_record* record) { name_container(record); });
    std::unique_lock lock(mutex_);
    records_ = scan.take_records();
    for (;;) {
        more_.wait(lock, [this] { return ending_ || !events_.empty(); });
        const RecordBuffer events = std::exchange(events_, RecordBuffer());
        const bool ending = ending_;
        lock.unlock();
        follow(events, scan);
        copied_bytes_ = code_.counts().bytes;
        if (ending) code_.finish();
        lock.lock();
        records_.append(scan.take_records());
        if (!ending) continue;
        ended_ = true;
        end_.notify_one();
        return;
    }
}

void Rundown::follow(const RecordBuffer& events, ProcessScan& scan) {
    std::set<std::uint32_t> started;
    events.for_each([&](const lagtrap_record* record) {
        code_.take(record);
        if (record->type != LAGTRAP_RECORD_NAME) return;
        const auto& name = *reinterpret_cast<const lagtrap_name*>(record);
        if (name.by_exec != 0) started.insert(name.pid);
    });
    for (const std::uint32_t pid : started)
        if (++started_ <= max_started) scan.add_again(pid);
    scan.records().for_each([this](const lagtrap_record* record) { name_container(record); });
}

void Rundown::add(const RecordBuffer& events) {
    if (events.empty()) return;
    {
        const std::scoped_lock lock(mutex_);
        events_.append(events);
    }
    more_.notify_one();
}

RecordBuffer Rundown::take_records() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(records_, RecordBuffer());
}

void Rundown::finish() {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
    }
    more_.notify_one();
    {
        std::unique_lock lock(mutex_);
        (void)end_.wait_for(lock, finish_timeout, [this] { return ended_; });
    }
    // Makes all further inspections fail.
    given_up_ = true;
    thread_.join();
}

}  // namespace lagtrap::daemon
