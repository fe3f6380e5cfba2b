#include "daemon/calls/probe_session.hpp"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>

#include "bpf/traced_functions.h"
#include "core/clock.hpp"
#include "daemon/processes/process_cpu_time.hpp"

namespace lagtrap::daemon {

ProbeSession::ProbeSession(const Kernel& kernel, pid_t pid)
    : pid_(pid),
      limit_(bpf_map__max_entries(kernel.functions)),
      function_bytes_(bpf_map__value_size(kernel.functions)),
      ring_(nullptr, ring_buffer__free),
      probes_({kernel.on_call, kernel.on_call_exit, kernel.on_call_return,
               bpf_map__fd(kernel.exit_sites)},
              pid),
      others_(pid) {}

Result<std::unique_ptr<ProbeSession>> ProbeSession::begin(const Kernel& kernel, pid_t pid,
                                                          Take take, void* owner) {
    std::unique_ptr<ProbeSession> self(new ProbeSession(kernel, pid));
    TRY_ASSIGN(self->functions_,
               MappedMap::map(bpf_map__fd(kernel.functions), self->function_bytes_, self->limit_,
                              "counts of functions"));
    TRY_ASSIGN(self->totals_, MappedMap::map(bpf_map__fd(kernel.totals),
                                             bpf_map__value_size(kernel.totals), 1, "counts"));
    self->ring_.reset(ring_buffer__new(bpf_map__fd(kernel.records), take, owner, nullptr));
    if (!self->ring_) return libbpf_error("listen for calls", -errno);
    return self;
}

ProbeSession::~ProbeSession() { (void)detach(); }

lagtrap_probed_function& ProbeSession::probed(std::uint32_t function) const {
    return *reinterpret_cast<lagtrap_probed_function*>(static_cast<char*>(functions_.at) +
                                                       function * function_bytes_);
}

lagtrap_trace_limits& ProbeSession::limits() const { return *totals<lagtrap_trace_limits>(); }

void ProbeSession::set_cost(std::uint32_t function, const calls::ProbeCost& cost) {
    if (function >= limit_) return;
    probed(function).inside_ns = cost.inside_ns;
    probed(function).around_ns = cost.around_ns;
    counted_ = std::max(counted_, function + 1);
}

void ProbeSession::set_min_duration(std::chrono::nanoseconds min_duration) {
    __atomic_store_n(&limits().min_ns,
                     static_cast<__u64>(std::max<std::int64_t>(min_duration.count(), 0)),
                     __ATOMIC_RELAXED);
}

Status ProbeSession::follow_threads(std::initializer_list<bpf_program*> programs) {
    for (bpf_program* program : programs) {
        Link link(bpf_program__attach(program));
        if (!link) return libbpf_error("follow the process's threads", -errno);
        scheduler_links_.push_back(std::move(link));
    }
    return success();
}

std::vector<std::uint64_t> ProbeSession::hits() const {
    std::vector<std::uint64_t> hits;
    const std::uint32_t count = std::min(std::max(counted_, probes_.functions()), limit_);
    for (std::uint32_t number = 0; number < count; ++number)
        hits.push_back(__atomic_load_n(&probed(number).hits, __ATOMIC_RELAXED));
    return hits;
}

std::vector<calls::DetachedFunction> ProbeSession::too_expensive(
    CallThinning& thinning, const std::vector<calls::Function>& functions) const {
    if (probes_.is_detaching()) return {};
    return thinning.look(std::chrono::nanoseconds(monotonic_ns()), hits(), functions,
                         process_cpu_time(static_cast<std::uint32_t>(pid_)));
}

void ProbeSession::stop_counting(std::uint32_t function) {
    if (function < limit_) __atomic_store_n(&probed(function).detached, 1, __ATOMIC_RELAXED);
}

// Stops counting first: ends of calls that begin from now on could be missed, and later calls would
// then appear below them.
Status ProbeSession::detach_functions(const std::set<std::uint32_t>& functions,
                                      const std::set<std::uint32_t>& also) {
    __atomic_store_n(&limits().relinking_until_ns, monotonic_ns() + relinking_takes_ns,
                     __ATOMIC_RELAXED);
    for (const std::uint32_t function : functions) stop_counting(function);
    if (!also.empty()) TRY(others_.detach_functions(also));
    return functions.empty() ? success() : probes_.detach_functions(functions);
}

void ProbeSession::take_records(std::chrono::milliseconds wait) {
    (void)ring_buffer__poll(ring_.get(), static_cast<int>(wait.count()));
}

void ProbeSession::take_arrived_records() { (void)ring_buffer__consume(ring_.get()); }

std::uint64_t ProbeSession::detach() {
    const std::uint64_t began_ns = monotonic_ns();
    others_.detach();
    probes_.detach();
    scheduler_links_.clear();
    return monotonic_ns() - began_ns;
}

}  // namespace lagtrap::daemon
