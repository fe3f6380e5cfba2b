#include "daemon/rundown.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/unique_fd.hpp"
#include "daemon/libbpf_support.hpp"

namespace lagtrap::daemon {
namespace {

void read_threads(bpf_program* program) {
    const Link link(bpf_program__attach_iter(program, nullptr));
    if (!link) return;
    const UniqueFd fd(bpf_iter_create(bpf_link__fd(link.get())));
    char nothing = 0;
    while (fd.valid() && ::read(fd.get(), &nothing, 1) > 0) {
    }
}

CodeRundownLimits limits_within(std::uint64_t code_limit_bytes) {
    CodeRundownLimits limits;
    limits.total_bytes = std::min(limits.total_bytes, code_limit_bytes);
    return limits;
}

}  // namespace

Rundown::Rundown(bpf_program* threads, std::uint32_t first_pid, std::filesystem::path capture_directory,
                 std::uint64_t code_limit_bytes)
    : code_(std::move(capture_directory), "/proc", limits_within(code_limit_bytes)) {
    thread_ = std::thread([this, threads, first_pid] { work(threads, first_pid); });
}

Rundown::~Rundown() { finish(); }

void Rundown::work(bpf_program* threads, std::uint32_t first_pid) {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 0);
    ProcessScan scan;
    const auto follow_code = [&] { scan.records().for_each([this](const auto* record) { code_.take(record); }); };
    if (first_pid != 0) scan.add(first_pid);
    follow_code();
    read_threads(threads);
    scan.add_others(ProcessScan::Code::Known);
    std::unique_lock lock(mutex_);
    records_ = scan.take_records();
    for (;;) {
        more_.wait(lock, [this] { return ending_ || !events_.empty(); });
        const RecordBuffer events = std::exchange(events_, RecordBuffer());
        const bool ending = ending_;
        lock.unlock();
        events.for_each([this](const lagtrap_record* record) { code_.take(record); });
        copied_bytes_ = code_.counts().bytes;
        if (ending) return code_.finish();
        lock.lock();
    }
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
    thread_.join();
}

}  // namespace lagtrap::daemon
