#include "daemon/events/timed_threads.hpp"

#include <bpf/bpf.h>

#include <algorithm>

#include "bpf/event_monitor.h"
#include "daemon/events/event_traits.hpp"
#include "daemon/kernel/libbpf_support.hpp"

namespace lagtrap::daemon {
namespace {

// As declared in the BPF programs.
Result<UniqueFd> make_array(const char* name, std::size_t value_bytes, std::uint32_t entries) {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    UniqueFd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(__u32),
                                static_cast<__u32>(value_bytes), entries, &options));
    if (!map.valid()) return libbpf_error("create the thread time table", -errno);
    return map;
}

}  // namespace

Result<TimedThreads> TimedThreads::create(const settings::Settings& settings) {
    const bool wanted = settings.history.times &&
                        std::any_of(settings.events.begin(), settings.events.end(),
                                    [](const auto& event) { return counts_times(event); });
    TimedThreads self;
    TRY_ASSIGN(self.sets_, make_array("timed_sets", sizeof(lagtrap_timed_set),
                                      wanted ? LAGTRAP_TIMED_SETS : 1));
    TRY_ASSIGN(self.times_, make_array("thread_times", sizeof(lagtrap_thread_times),
                                       wanted ? LAGTRAP_TIMED_THREADS : 1));
    return self;
}

}  // namespace lagtrap::daemon
