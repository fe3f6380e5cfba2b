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
    exchange_.deliver(scan.take_records());
    for (bool last = false; !last;) {
        const RecordExchange::Next next = exchange_.next();
        last = next.last;
        follow(next.events, scan);
        copied_bytes_ = code_.counts().bytes;
        if (last) code_.finish();
        exchange_.deliver(scan.take_records(), last);
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

void Rundown::finish() {
    if (!thread_.joinable()) return;
    exchange_.end();
    (void)exchange_.wait_for_last(finish_timeout);
    // Makes all further inspections fail.
    given_up_ = true;
    thread_.join();
}

}  // namespace lagtrap::daemon
