#include "tests/unit/bpf/machine.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bpf/run_tag.h"

namespace lagtrap::native {

namespace {

constexpr std::uint32_t markers_of_event = LAGTRAP_PLACES;
constexpr std::uint32_t site_with_arguments = 1;

lagtrap_argument in_register(std::uint8_t number) {
    lagtrap_argument argument{};
    argument.place = LAGTRAP_ARGUMENT_REGISTER;
    argument.bytes = 8;
    argument.base = number;
    argument.index = LAGTRAP_NO_REGISTER;
    return argument;
}

lagtrap_marker_config marker_of(std::uint32_t event, std::uint32_t place, bool has_arguments) {
    lagtrap_marker_config marker{};
    marker.event = event;
    marker.role = place == LAGTRAP_PLACE_BEGIN ? LAGTRAP_ROLE_BEGIN
                  : place == LAGTRAP_PLACE_END ? LAGTRAP_ROLE_END
                                               : LAGTRAP_ROLE_STAGE;
    marker.stage = place < LAGTRAP_PLACE_STAGE ? 0 : place - LAGTRAP_PLACE_STAGE;
    marker.key_argument = has_arguments ? 0 : LAGTRAP_NO_ARGUMENT;
    marker.begin_time_argument = has_arguments ? 1 : LAGTRAP_NO_ARGUMENT;
    marker.trace_argument = has_arguments ? 2 : LAGTRAP_NO_ARGUMENT;
    return marker;
}

}  // namespace

Machine::Machine() : kernel(Kernel::instance()), probes_(LAGTRAP_MAX_EVENTS, Probe::usdt) {
    kernel.reset();
    auto& site = kernel.at<lagtrap_site>(native_maps.argument_sites, site_with_arguments);
    site.key = in_register(7);         // rdi
    site.begin_time = in_register(6);  // rsi
    site.trace = in_register(2);       // rdx
}

lagtrap_event_config& Machine::add_event(std::uint32_t event, std::uint32_t flags,
                                         std::uint32_t nesting, Probe probe) {
    for (std::uint32_t place = 0; place < LAGTRAP_PLACES; ++place)
        kernel.at<lagtrap_marker_config>(native_maps.marker_configs,
                                         event * markers_of_event + place) =
            marker_of(event, place,
                      probe == Probe::function && (flags & LAGTRAP_EVENT_KEY_ARGUMENT) != 0);
    probes_[event] = probe;
    auto& config = kernel.at<lagtrap_event_config>(native_maps.event_configs, event);
    config.threshold_ns = 3'600'000'000'000;
    config.flags = flags;
    config.nesting = nesting;
    config.look_after_ns = LAGTRAP_NEVER_NS;
    return config;
}

native_thread& Machine::thread(std::uint32_t tid) {
    const auto known = std::find_if(threads_.begin(), threads_.end(),
                                    [tid](const auto& one) { return one.tid == tid; });
    if (known != threads_.end()) return *known;
    native_thread& made = threads_.emplace_back();
    made.pid = tid / 100 * 100;
    made.tid = tid;
    made.uid = 1000;
    made.priority = 120;
    made.call = no_call;
    const std::string name = "thread-" + std::to_string(tid);
    name.copy(made.comm, sizeof(made.comm) - 1);
    return made;
}

void Machine::reach(std::uint32_t event, std::uint32_t place, const native_thread& thread,
                    const Hit& hit) {
    const native_registers registers{.stack_pointer = hit.stack_pointer,
                                     .instruction = hit.site,
                                     .rdi = hit.key,
                                     .rsi = hit.begin_ns,
                                     .rdx = hit.text_address,
                                     .rax = 0,
                                     .rcx = 0,
                                     .flags = 0};
    const Probe probe = probes_[event];
    kernel.current = &thread;
    kernel.cookie = event * markers_of_event + place;
    if (probe == Probe::frame) kernel.cookie |= LAGTRAP_COOKIE_BY_FRAME;
    if (probe == Probe::function || probe == Probe::frame) return native_on_function(&registers);
    if (probe == Probe::usdt_without_arguments) return native_on_site(&registers);
    kernel.cookie |= static_cast<std::uint64_t>(site_with_arguments) << LAGTRAP_COOKIE_SITE_SHIFT;
    native_on_usdt(&registers);
}

void Machine::begin(std::uint32_t event, const native_thread& thread, const Hit& hit) {
    reach(event, LAGTRAP_PLACE_BEGIN, thread, hit);
}
void Machine::stage(std::uint32_t event, const native_thread& thread, std::uint16_t stage,
                    const Hit& hit) {
    reach(event, LAGTRAP_PLACE_STAGE + stage, thread, hit);
}
void Machine::end(std::uint32_t event, const native_thread& thread, const Hit& hit) {
    reach(event, LAGTRAP_PLACE_END, thread, hit);
}

void Machine::exec(const native_thread& thread) {
    kernel.current = &thread;
    on_exec(nullptr);
}

void Machine::preempt(const native_thread& prev, const native_thread& next) {
    kernel.current = &prev;
    native_switch(true, &prev, &next, 0);
}
void Machine::block(const native_thread& prev, const native_thread& next, std::uint32_t state) {
    kernel.current = &prev;
    native_switch(false, &prev, &next, state);
}
void Machine::wake(const native_thread& wakee, const native_thread& waker) {
    kernel.current = &waker;
    native_waking(&wakee);
}

void Machine::meanwhile(std::function<void()> deed) {
    kernel.before_exchange = [this, deed = std::move(deed)] {
        const native_thread* current = kernel.current;
        const std::uint64_t cookie = kernel.cookie;
        deed();
        kernel.current = current;
        kernel.cookie = cookie;
    };
}

lagtrap_event_counters& Machine::counters(std::uint32_t event) {
    return kernel.at<lagtrap_event_counters>(native_maps.event_counters, event);
}
std::uint64_t Machine::runs(std::uint32_t event) {
    const auto& histogram = counters(event).histogram;
    return std::accumulate(std::begin(histogram), std::end(histogram), std::uint64_t{0});
}
std::uint64_t Machine::unmatched(std::uint32_t event, std::uint32_t place) {
    return counters(event).markers[place].unmatched;
}

lagtrap_bucket& Machine::bucket(std::uint32_t index) {
    return kernel.at<lagtrap_bucket>(native_maps.open_tags, index);
}
std::size_t Machine::open_runs() {
    std::size_t count = 0;
    for (std::uint32_t index = 0; index < LAGTRAP_MIN_BUCKETS; ++index)
        for (const std::uint64_t tag : bucket(index).tags) count += tag != 0;
    return count;
}
std::uint64_t Machine::spilled_runs() {
    std::uint64_t count = 0;
    for (std::uint32_t index = 0; index < LAGTRAP_MIN_BUCKETS; ++index)
        count += bucket(index).state & LAGTRAP_SPILLED_MASK;
    return count;
}
lagtrap_slot* Machine::slot_of(std::uint64_t tag) {
    const int index = index_of(tag);
    return index < 0 ? nullptr : &kernel.at<lagtrap_slot>(native_maps.open_slots, index);
}

lagtrap_thread_times& Machine::times_of(std::uint32_t tid) {
    for (std::uint32_t set = 0; set < LAGTRAP_TIMED_SETS; ++set)
        for (std::uint32_t way = 0; way < LAGTRAP_TIMED_WAYS; ++way)
            if (kernel.at<lagtrap_timed_set>(native_maps.timed_sets, set).tids[way] == tid)
                return kernel.at<lagtrap_thread_times>(native_maps.thread_times,
                                                       set * LAGTRAP_TIMED_WAYS + way);
    ADD_FAILURE() << "the time of thread " << tid << " is not counted";
    static lagtrap_thread_times none;
    return none = {};
}

std::vector<lagtrap_slot> Machine::take_reports() {
    return take_records<lagtrap_slot>(native_maps.reported_runs, LAGTRAP_REPORT_RUN);
}

native_thread idle_thread() {
    native_thread idle{};
    idle.priority = 120;
    return idle;
}

std::uint64_t sum_of(const lagtrap_time_parts& parts) {
    return std::accumulate(std::begin(parts.blocked_ns), std::end(parts.blocked_ns),
                           parts.on_cpu_ns + parts.runnable_ns);
}

}  // namespace lagtrap::native
