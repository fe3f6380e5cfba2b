#include "daemon/events/open_runs.hpp"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "daemon/events/goroutine_frame.hpp"

namespace lagtrap::daemon {
namespace {

template <typename T>
T load(const T& value) {
    return __atomic_load_n(&value, __ATOMIC_ACQUIRE);
}

// Field 22 of /proc/PID/task/TID/stat: start in clock ticks after boot. The name before it may hold anything,
// so fields are counted from its last parenthesis.
std::optional<std::uint64_t> started_ticks(const std::string& stat) {
    auto at = stat.rfind(')');
    if (at == std::string::npos) return std::nullopt;
    for (int field = 2; field < 22; ++field) {
        at = stat.find(' ', at + 1);
        if (at == std::string::npos) return std::nullopt;
    }
    std::uint64_t ticks = 0;
    const auto [end, failure] = std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), ticks);
    if (failure != std::errc{}) return std::nullopt;
    return ticks;
}

// The buckets of a tag, as listener.bpf.c has them.
std::uint32_t first_bucket(std::uint64_t tag) { return (tag >> 8) & (LAGTRAP_BUCKETS - 1); }

// The words of the table that hold no tag.
bool is_spill_count(std::size_t index) { return index % LAGTRAP_BUCKET_SLOTS == LAGTRAP_BUCKET_TAGS; }

// A key of the whole machine may be ended by any process, so nothing shows that nobody will: this is how long one is waited
// for whose process lives. A threshold's multiples, and no less than the time.
constexpr std::uint64_t machine_run_thresholds = 1000;
constexpr std::uint64_t machine_run_ns = 3'600'000'000'000;

// An event with no more open runs than these keeps them for as long as somebody may end them.
constexpr std::uint64_t open_runs_kept = 256;

bool is_older_than(const lagtrap_slot& slot, std::uint64_t now_ns, std::uint64_t least_ns, std::uint64_t thresholds) {
    const std::uint64_t begin_ns = slot.run.begin_hit_ns, deadline_ns = load(slot.deadline_ns);
    if (deadline_ns == 0 || deadline_ns < begin_ns) return false;
    return now_ns > begin_ns + least_ns && now_ns > begin_ns + (deadline_ns - begin_ns) * thresholds;
}

// As listener.bpf.c has it.
bool is_stale(const lagtrap_slot& slot, std::uint64_t now_ns) {
    return is_older_than(slot, now_ns, LAGTRAP_STALE_NS, LAGTRAP_STALE_THRESHOLDS);
}

bool keyed_by_argument(const std::vector<settings::Event>& events, std::uint32_t event) {
    return event < events.size() && events[event].key == settings::KeyKind::Argument;
}

bool keyed_for_machine(const std::vector<settings::Event>& events, std::uint32_t event) {
    return keyed_by_argument(events, event) && events[event].key_scope == settings::KeyScope::Machine;
}

// The programs leave the name to us for runs that are open: reading it here costs nothing in the watched program.
void fill_name(lagtrap_run& run) {
    std::memset(run.comm, 0, sizeof(run.comm));
    const auto path = "/proc/" + std::to_string(run.begin_pid) + "/task/" + std::to_string(run.begin_tid) + "/comm";
    if (auto name = read_file(path, 64); name && !name->empty())
        std::memcpy(run.comm, name->data(), std::min(name->size() - 1, sizeof(run.comm) - 1));  // ends in a newline
}

// Whether the frame at `stack_pointer` is still on the thread's stack, as far as it can be told: a thread that sleeps
// shows its stack pointer ("nr arguments... sp pc", proc(5)), one that runs does not.
bool frame_alive(const lagtrap_run& run, std::uint64_t stack_pointer) {
    const auto path = "/proc/" + std::to_string(run.begin_pid) + "/task/" + std::to_string(run.begin_tid) + "/syscall";
    const auto text = read_file(path, 4096);
    if (!text) return true;
    const auto before_last = text->rfind(' ');
    const auto before_sp = before_last == std::string::npos ? before_last : text->rfind(" 0x", before_last - 1);
    if (before_sp == std::string::npos) return true;
    std::uint64_t now_at = 0;
    std::from_chars(text->data() + before_sp + 3, text->data() + before_last, now_at, 16);
    return now_at == 0 || now_at <= stack_pointer;
}

// Whether a run whose key is the machine's has been waited for long enough: less where its process is gone.
bool outlived(const lagtrap_run& run, const lagtrap_slot& slot, std::uint64_t now_ns,
              const std::vector<settings::Event>& events) {
    if (!keyed_for_machine(events, run.event)) return false;
    return is_older_than(slot, now_ns, machine_run_ns, machine_run_thresholds) ||
           !thread_alive(run.begin_pid, run.begin_pid, run.begin_hit_ns);
}

bool is_of_goroutine(const lagtrap_run& run) { return (run.flags & LAGTRAP_RUN_OF_GOROUTINE) != 0; }

FrameState state_of(const lagtrap_run& run, const lagtrap_slot& slot, bool is_call) {
    const GoroutineFrame frame{run.begin_pid,    slot.goroutine,       run.key,
                               slot.goid_offset, slot.go_frame_offset, slot.stack_pointer};
    return is_call ? state_of_frame(frame) : state_of_goroutine(frame);
}

// Where the run will not end any more; asked of few runs, for it takes a look into the program's memory.
bool goroutine_ended(const lagtrap_run& run, const lagtrap_slot& slot, std::uint64_t now_ns) {
    return is_of_goroutine(run) && load(slot.deadline_ns) < now_ns && state_of(run, slot, false) == FrameState::Gone;
}

FrameState frame_of(const lagtrap_run& run, const lagtrap_slot& slot, const std::vector<settings::Event>& events) {
    const bool is_call = pairs_calls(events[run.event]);
    if (is_of_goroutine(run)) return state_of(run, slot, is_call);
    return !is_call || frame_alive(run, slot.stack_pointer) ? FrameState::Alive : FrameState::Gone;
}

}  // namespace

bool pairs_calls(const settings::Event& event) {
    const settings::Marker& begin = event.begin;
    const settings::Marker& end = event.end;
    return event.key == settings::KeyKind::Thread && event.nesting != settings::Nesting::Restart &&
           begin.kind == settings::MarkerKind::Function && end.kind == settings::MarkerKind::Function &&
           begin.side == settings::FunctionSide::Entry && end.side == settings::FunctionSide::Return &&
           begin.name == end.name && begin.binary == end.binary;
}

bool keeps_stack_order(const settings::Event& event) {
    const auto in_program = [](const settings::Marker& marker) {
        return marker.kind != settings::MarkerKind::Tracepoint && marker.kind != settings::MarkerKind::RunQueue;
    };
    return event.key == settings::KeyKind::Thread && event.nesting != settings::Nesting::Restart &&
           !pairs_calls(event) && in_program(event.begin) && in_program(event.end);
}

bool counts_times(const settings::Event& event) {
    if (event.begin.kind == settings::MarkerKind::RunQueue) return false;  // each run is all of one kind
    if (event.key == settings::KeyKind::Thread) return true;
    // Tracepoints are met by whichever thread an interrupt hits; a goroutine's threads run others between its markers.
    const auto in_kernel = [](const settings::Marker& marker) {
        return marker.kind == settings::MarkerKind::Tracepoint;
    };
    return !in_kernel(event.begin) && !in_kernel(event.end) &&
           std::none_of(event.stages.begin(), event.stages.end(),
                        [&](const auto& stage) { return in_kernel(stage.marker); });
}

Result<MappedMemory> MappedMemory::map(int fd, std::size_t bytes) {
    MappedMemory memory;
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) return system_error("map the table of open runs");
    memory.data_ = data;
    memory.bytes_ = bytes;
    return memory;
}

MappedMemory::MappedMemory(MappedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MappedMemory& MappedMemory::operator=(MappedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

MappedMemory::~MappedMemory() {
    if (data_) ::munmap(data_, bytes_);
}

bool thread_alive(std::uint32_t pid, std::uint32_t tid, std::uint64_t begin_hit_ns) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/stat", 4096);
    if (!stat) return false;
    const auto state_at = stat->rfind(')');
    const bool zombie = state_at != std::string::npos && state_at + 2 < stat->size() &&
                        ((*stat)[state_at + 2] == 'Z' || (*stat)[state_at + 2] == 'X');
    const auto ticks = started_ticks(*stat);
    if (zombie || !ticks) return false;
    const auto clocks = ClockSnapshot::take();
    const std::uint64_t begin_boottime_ns = begin_hit_ns + (clocks.boottime_ns - clocks.monotonic_ns);
    const std::uint64_t tick_ns = 1'000'000'000ULL / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    return *ticks * tick_ns <= begin_boottime_ns;
}

Result<OpenRuns> OpenRuns::map(int tags_fd, int slots_fd) {
    OpenRuns runs;
    TRY_ASSIGN(runs.tags_memory_, MappedMemory::map(tags_fd, LAGTRAP_BUCKETS * sizeof(lagtrap_bucket)));
    TRY_ASSIGN(runs.slots_memory_, MappedMemory::map(slots_fd, LAGTRAP_OPEN_SLOTS * sizeof(lagtrap_slot)));
    runs.tags_ = static_cast<std::uint64_t*>(runs.tags_memory_.data());
    runs.slots_ = static_cast<lagtrap_slot*>(runs.slots_memory_.data());
    return runs;
}

// Whether a run can still end: its thread lives in the program that began it, or (where a value or a goroutine is the key) its
// process; a key of the whole machine may outlive both.
bool OpenRuns::can_end(const lagtrap_run& run, const std::vector<settings::Event>& events) const {
    if (keyed_for_machine(events, run.event)) return true;
    std::uint64_t program_ns = 0;
    if (program_starts_fd_ >= 0 && bpf_map_lookup_elem(program_starts_fd_, &run.begin_pid, &program_ns) == 0 &&
        program_ns > run.begin_hit_ns)
        return false;
    const bool of_thread = !keyed_by_argument(events, run.event) && (run.flags & LAGTRAP_RUN_OF_GOROUTINE) == 0;
    if (of_thread) return thread_alive(run.begin_pid, run.begin_tid, run.begin_hit_ns);
    return thread_alive(run.begin_pid, run.begin_pid, run.begin_hit_ns);
}

std::optional<lagtrap_run> OpenRuns::read_slot(std::size_t index, std::uint64_t tag) const {
    const lagtrap_slot& slot = slots_[index];
    const std::uint64_t deadline_ns = load(slot.deadline_ns);
    if (deadline_ns == 0) return std::nullopt;
    lagtrap_run run = slot.run;
    // The slot may have been freed, and even taken by another run, while it was copied.
    if (load(tags_[index]) != tag || load(slot.deadline_ns) != deadline_ns) return std::nullopt;
    const auto stages = static_cast<std::uint32_t>(load(slot.stage_next));  // without whose they are
    run.stage_count = static_cast<std::uint8_t>(std::min<std::uint32_t>(stages, LAGTRAP_MAX_STAGES));
    if ((run.flags & LAGTRAP_RUN_WITHOUT_STAGES) != 0) run.stage_count = 0;
    return run;
}

bool OpenRuns::free_slot(std::size_t index, std::uint64_t tag) {
    std::uint64_t expected = tag;
    if (!__atomic_compare_exchange_n(&tags_[index], &expected, LAGTRAP_TAG_TAKEN, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&slots_[index].deadline_ns, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&tags_[index], 0, __ATOMIC_RELEASE);
    const std::size_t first = first_bucket(tag);
    if (first != index / LAGTRAP_BUCKET_SLOTS)
        __atomic_fetch_sub(&tags_[first * LAGTRAP_BUCKET_SLOTS + LAGTRAP_BUCKET_TAGS], 1, __ATOMIC_ACQ_REL);
    return true;
}

void OpenRuns::abandon(std::size_t index, std::uint64_t tag, const lagtrap_run& run,
                       const std::vector<settings::Event>& events) {
    Aborted aborted{slots_[index].report, run};
    if (!free_slot(index, tag)) return;
    ++counts_[run.event].abandoned;
    if (run.event >= events.size() || events[run.event].record != settings::RecordMode::Runs) return;
    aborted.run.end_ns = monotonic_ns();
    aborted_.push_back(aborted);
}

// Of a run that would begin a recording if it passed its threshold. One whose breach is seen at its end goes on to count after
// that, unless it has been open for so long that it may have none.
void OpenRuns::look_early(std::size_t index, std::uint64_t tag, std::uint64_t now_ns,
                          const std::vector<settings::Event>& events, std::uint64_t point_ns, Look& result) const {
    const lagtrap_slot& slot = slots_[index];
    const std::uint64_t deadline_ns = load(slot.deadline_ns);
    const std::uint64_t early_ns = load(slot.run.begin_ns) + point_ns;
    if (early_ns > now_ns) {
        result.next_early_ns = std::min(result.next_early_ns, early_ns);
        return;
    }
    if (result.early_pid != 0 || load(slot.doubtful) != 0 || is_stale(slot, now_ns)) return;
    const std::uint32_t event = slot.run.event;
    if (event >= events.size()) return;
    if (events[event].breach == settings::BreachMode::Deadline && deadline_ns < now_ns) return;
    const auto run = read_slot(index, tag);
    if (run && !users_without_recordings_.contains(run->begin_uid) && can_end(*run, events))
        result.early_pid = run->begin_pid;
}

OpenRuns::Look OpenRuns::look(std::uint64_t now_ns, const std::vector<settings::Event>& events, Tell tell,
                              const IsBelieved& is_believed, const std::vector<std::uint64_t>& early_points_ns) {
    Look result;
    for_each_open([&](std::size_t index, std::uint64_t tag) {
        ++result.open;
        lagtrap_slot& slot = slots_[index];
        const std::uint64_t deadline_ns = load(slot.deadline_ns);
        const std::uint32_t event = slot.run.event;
        if (deadline_ns == 0 || (deadline_ns & LAGTRAP_DEADLINE_TOLD) != 0 || event >= events.size()) return;
        const std::uint64_t early_ns = event < early_points_ns.size() ? early_points_ns[event] : LAGTRAP_NEVER_NS;
        if (early_ns != LAGTRAP_NEVER_NS && is_believed(event))
            look_early(index, tag, now_ns, events, early_ns, result);
        if (events[event].breach != settings::BreachMode::Deadline) return;
        if (deadline_ns >= now_ns) {
            result.earliest_deadline_ns = std::min(result.earliest_deadline_ns, deadline_ns);
            return;
        }
        if (tell == Tell::Nothing || load(slot.doubtful) != 0 || !is_believed(event)) return;
        auto run = read_slot(index, tag);
        if (!run || (tell == Tell::WhoMayRecord && users_without_recordings_.contains(run->begin_uid))) return;
        if (!can_end(*run, events)) return abandon(index, tag, *run, events);
        const FrameState frame = frame_of(*run, slot, events);
        if (frame == FrameState::Gone) return abandon(index, tag, *run, events);
        if (frame == FrameState::Unknown) return;
        // Its end sees the bit, or has come before and is a breach itself.
        std::uint64_t expected_ns = deadline_ns;
        if (!__atomic_compare_exchange_n(&slot.deadline_ns, &expected_ns, deadline_ns | LAGTRAP_DEADLINE_TOLD, false,
                                         __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return;
        __atomic_store_n(&slot.reported, 1, __ATOMIC_RELEASE);
        run->end_ns = now_ns;
        run->flags |= LAGTRAP_RUN_OPEN | LAGTRAP_RUN_DELAY | LAGTRAP_RUN_REPORTED;
        fill_name(*run);
        ++counts_[event].told;
        result.overdue.push_back(*run);
    });
    return result;
}

bool OpenRuns::is_open(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) const {
    for (std::size_t index = 0; index < LAGTRAP_OPEN_SLOTS; ++index) {
        // One that is being ended may not be told yet.
        if (is_spill_count(index) || load(tags_[index]) == 0) continue;
        const lagtrap_run& run = slots_[index].run;
        if (run.event == event && run.begin_tid == tid && load(run.begin_ns) == begin_ns) return true;
    }
    return false;
}

std::vector<lagtrap_run> OpenRuns::snapshot(std::uint64_t now_ns, const IsBelieved& is_believed) const {
    std::vector<lagtrap_run> runs;
    for_each_open([&](std::size_t index, std::uint64_t tag) {
        auto run = read_slot(index, tag);
        if (!run) return;
        const bool reported = load(slots_[index].reported) != 0;
        const bool overdue = load(slots_[index].deadline_ns) < now_ns;
        if (overdue && (load(slots_[index].doubtful) != 0 || (!reported && !is_believed(run->event)))) return;
        if (overdue && is_of_goroutine(*run) && state_of(*run, slots_[index], false) != FrameState::Alive) return;
        run->end_ns = now_ns;
        run->header.at_ns = now_ns;
        run->header.type = LAGTRAP_RECORD_RUN;
        run->header.size_bytes =
            static_cast<std::uint32_t>(offsetof(lagtrap_run, stages) + run->stage_count * sizeof(lagtrap_stage_hit));
        run->end_pid = run->begin_pid;
        run->end_tid = run->begin_tid;
        run->end_cpu = run->begin_cpu;
        fill_name(*run);
        run->flags |= LAGTRAP_RUN_OPEN;
        if (reported) run->flags |= LAGTRAP_RUN_REPORTED;
        runs.push_back(*run);
    });
    return runs;
}

void OpenRuns::sweep(std::uint64_t now_ns, const std::vector<settings::Event>& events) {
    for_each_open([&](std::size_t index, std::uint64_t tag) {
        const auto run = read_slot(index, tag);
        if (run && (!can_end(*run, events) || goroutine_ended(*run, slots_[index], now_ns)))
            abandon(index, tag, *run, events);
    });
    const auto counts = count(now_ns);
    for_each_open([&](std::size_t index, std::uint64_t tag) {
        const auto run = read_slot(index, tag);
        if (!run || !is_stale(slots_[index], now_ns)) return;
        const auto of_event = counts.find(run->event);
        const bool crowded = of_event != counts.end() && of_event->second.open > open_runs_kept;
        if (!crowded && !outlived(*run, slots_[index], now_ns, events)) return;
        if (free_slot(index, tag)) ++counts_[run->event].expired;
    });
}

void OpenRuns::leave_out(std::uint32_t event, const HitParty& who, const std::vector<settings::Event>& events) {
    for_each_open([&](std::size_t index, std::uint64_t tag) {
        const auto run = read_slot(index, tag);
        const bool is_theirs =
            run && run->event == event && run->begin_uid == who.uid && (who.pid == 0 || run->begin_pid == who.pid);
        if (is_theirs) abandon(index, tag, *run, events);
    });
}

void OpenRuns::drop(std::uint32_t event, const std::vector<settings::Event>& events) {
    for_each_open([&](std::size_t index, std::uint64_t tag) {
        if (slots_[index].run.event != event) return;
        if (const auto run = read_slot(index, tag)) abandon(index, tag, *run, events);
    });
}

std::vector<lagtrap_trace_text> OpenRuns::trace_texts(const std::vector<settings::Event>& events) const {
    std::vector<lagtrap_trace_text> texts;
    for_each_open([&](std::size_t index, std::uint64_t tag) {
        const auto run = read_slot(index, tag);
        if (!run || run->event >= events.size() || !events[run->event].trace_id) return;
        lagtrap_trace_text one{};
        one.header = {sizeof(one), LAGTRAP_RECORD_TRACE_TEXT, run->begin_cpu, monotonic_ns()};
        one.begin_hit_ns = run->begin_hit_ns;
        one.event = run->event;
        one.begin_tid = run->begin_tid;
        one.bytes = slots_[index].trace_text_bytes;
        std::memcpy(one.text, slots_[index].trace_text, sizeof(one.text));
        const auto again = read_slot(index, tag);  // else the text may be another run's
        if (again && again->begin_hit_ns == run->begin_hit_ns) texts.push_back(one);
    });
    return texts;
}

void OpenRuns::leave_stages(std::uint32_t event) {
    for_each_open([&](std::size_t index, std::uint64_t) {
        lagtrap_run& run = slots_[index].run;
        if (run.event != event) return;
        __atomic_fetch_or(&run.flags, static_cast<std::uint8_t>(LAGTRAP_RUN_WITHOUT_STAGES), __ATOMIC_RELAXED);
    });
}

std::map<std::uint32_t, OpenRuns::Counts> OpenRuns::count(std::uint64_t now_ns) const {
    auto counts = counts_;
    for_each_open([&](std::size_t index, std::uint64_t) {
        const lagtrap_slot& slot = slots_[index];
        Counts& of_event = counts[slot.run.event];
        const std::uint64_t begin_ns = slot.run.begin_ns, deadline_ns = load(slot.deadline_ns);
        ++of_event.open;
        if (deadline_ns == 0) return;
        of_event.oldest_ns = of_event.oldest_ns == 0 ? begin_ns : std::min(of_event.oldest_ns, begin_ns);
        if (deadline_ns < now_ns && load(slot.doubtful) == 0) ++of_event.overdue;
        if (is_stale(slot, now_ns)) ++of_event.stale;
    });
    return counts;
}

}  // namespace lagtrap::daemon
