#include "daemon/capture/cpu_samplers.hpp"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "core/perf_event.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {
namespace {

Result<UniqueFd> open_sampler(int cpu, std::chrono::nanoseconds interval) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = static_cast<std::uint64_t>(interval.count());
    attributes.disabled = 1;
    UniqueFd fd = open_perf_event(attributes, -1, cpu);
    if (!fd.valid()) return system_error("open the sampler of CPU " + std::to_string(cpu));
    return fd;
}

}  // namespace

Status CpuSamplers::add(int cpu, bpf_program* program) {
    TRY_ASSIGN(UniqueFd event, open_sampler(cpu, interval_));
    const int fd = event.release();
    Link link(bpf_program__attach_perf_event(program, fd));
    if (!link) return libbpf_error("attach the sampler of CPU " + std::to_string(cpu), -errno);
    // Attaching has enabled the event.
    ::ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    samplers_.push_back({cpu, fd, std::move(link)});
    return success();
}

std::vector<bool> CpuSamplers::renew(const std::vector<int>& cpus, bpf_program* program) {
    std::erase_if(samplers_, [&](const Sampler& sampler) {
        return std::find(cpus.begin(), cpus.end(), sampler.cpu) != cpus.end();
    });
    std::vector<bool> sampled;
    for (const int cpu : cpus) sampled.push_back(add(cpu, program).ok());
    return sampled;
}

void CpuSamplers::enable(bool on) const {
    for (const Sampler& sampler : samplers_)
        ::ioctl(sampler.fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void CpuSamplers::set_interval(std::chrono::nanoseconds interval) {
    interval_ = interval;
    std::uint64_t period_ns = static_cast<std::uint64_t>(interval.count());
    for (const Sampler& sampler : samplers_) ::ioctl(sampler.fd, PERF_EVENT_IOC_PERIOD, &period_ns);
}

}  // namespace lagtrap::daemon
