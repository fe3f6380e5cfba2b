#include <algorithm>

#include "analysis/raw_trace.hpp"

namespace lagtrap::analysis {

namespace {

// The order of events with equal time stamps: a thread stops, is woken, and runs again.
enum class EventKind : std::uint8_t { SwitchOut, Waking, SwitchIn, Lost };

struct ThreadEvent {
    std::uint64_t at_ns = 0;
    std::uint32_t waker_tid = 0;
    EventKind kind = EventKind::SwitchOut;
    SwitchOut out = SwitchOut::Runnable;
    bool by_interrupt = false;
    WakeCause cause = WakeCause::Unknown;
    NameId device = 0;
    std::uint32_t throttling = 0;  // SwitchIn: as in RawSwitch
    std::uint16_t cpu = 0;
    bool throttled = false;  // SwitchOut
    bool yielded = false;    // SwitchOut

    [[nodiscard]] bool operator<(const ThreadEvent& other) const {
        return at_ns != other.at_ns ? at_ns < other.at_ns : kind < other.kind;
    }
};

// The kernel reports a wakeup before it knows whether the thread has left its CPU. A wakeup that
// came this shortly before the thread stopped, and was followed by no other, ended that stop.
constexpr std::uint64_t early_waking_ns = 50'000;

// -1 (unknown) becomes the least urgent priority.
std::uint16_t tenure_priority(std::int16_t priority) {
    return priority < 0 ? no_priority : static_cast<std::uint16_t>(priority);
}

void wake(StateChange& change, const ThreadEvent& waking) {
    change.woken = true;
    change.waker_tid = waking.waker_tid;
    change.by_interrupt = waking.by_interrupt;
    change.wake_cause = waking.cause;
    change.wake_device = waking.device;
}

// Marks the part of a wait for a CPU, ending at `until_ns`, in which the thread's control group was
// throttled.
void mark_throttled(std::vector<StateChange>& changes, const RawThrottling& throttling,
                    std::uint64_t until_ns) {
    StateChange& waited = changes.back();
    if (waited.state != ThreadState::Runnable) return;
    const std::uint64_t from_ns = std::max(throttling.from_ns, waited.at_ns);
    const std::uint64_t to_ns = std::min(throttling.to_ns, until_ns);
    if (from_ns >= to_ns) return;
    StateChange part;
    part.state = ThreadState::Runnable;
    if (from_ns > waited.at_ns) {
        waited.throttled = false;
        part.at_ns = from_ns;
        part.throttled = true;
        changes.push_back(part);
    } else {
        waited.throttled = true;
    }
    if (to_ns == until_ns) return;
    part.at_ns = to_ns;
    part.throttled = false;
    changes.push_back(part);
}

struct OffCpuStack {
    std::uint64_t at_ns = 0;
    StackId stack = 0;
    std::uint32_t lock = 0;  // as in StateChange
};

struct WaitFileAt {
    std::uint64_t at_ns = 0;
    std::uint32_t place = 0;  // as StateChange::file
};

struct ThreadInput {
    std::vector<ThreadEvent> events;
    std::vector<OffCpuStack> off_cpu;
    std::vector<WaitFileAt> files;
};

class TimelineBuilder {
  public:
    TimelineBuilder(RawTrace& raw, Recording& recording) : raw_(raw), recording_(recording) {}

    void build();

  private:
    std::size_t place_of(std::uint32_t tid, std::uint32_t pid = 0);
    ThreadInput& input(std::uint32_t tid) { return inputs_[place_of(tid)]; }
    void add_known_threads();
    void add_switches();
    void add_cpu_switches(std::uint32_t cpu, std::vector<RawSwitch>& switches);
    void add_wakings();
    void add_wait_files();
    void add_samples();
    void add_unswitched_cpus();
    void make_changes(Thread& thread, ThreadInput& input) const;
    [[nodiscard]] StateChange initial_state(const Thread& thread, const ThreadInput& input) const;
    void wait_for_file(StateChange& state, std::uint32_t place) const;

    RawTrace& raw_;
    Recording& recording_;
    std::vector<std::uint32_t> places_;  // by tid: index into recording_.threads, plus 1
    std::vector<ThreadInput> inputs_;    // parallel to recording_.threads
};

std::size_t TimelineBuilder::place_of(std::uint32_t tid, std::uint32_t pid) {
    if (tid >= places_.size()) places_.resize(std::max<std::size_t>(tid + 1, places_.size() * 2));
    if (places_[tid] == 0) {
        Thread thread;
        thread.tid = tid;
        recording_.threads.push_back(std::move(thread));
        inputs_.emplace_back();
        places_[tid] = static_cast<std::uint32_t>(recording_.threads.size());
    }
    const std::size_t place = places_[tid] - 1;
    if (pid != 0 && recording_.threads[place].pid == 0) recording_.threads[place].pid = pid;
    return place;
}

void TimelineBuilder::add_known_threads() {
    for (const auto& [tid, known] : raw_.threads) {
        if (tid == 0) continue;
        Thread& thread = recording_.threads[place_of(tid, known.pid)];
        thread.name = known.name;
        thread.alive_at_start = known.first_seen_ns <= recording_.begin_ns;
        thread.creation = known.creation;
    }
}

void TimelineBuilder::add_cpu_switches(std::uint32_t cpu, std::vector<RawSwitch>& switches) {
    const auto add = [&](std::uint32_t tid, std::uint64_t at_ns, EventKind kind,
                         const RawSwitch* change) {
        ThreadEvent event{at_ns, 0, kind};
        event.cpu = static_cast<std::uint16_t>(cpu);
        if (change != nullptr && kind == EventKind::SwitchOut) {
            event.out = change->out;
            event.throttled = change->prev_throttled;
            event.yielded = change->prev_yielded;
        } else if (change != nullptr) {
            event.throttling = change->throttling;
        }
        input(tid).events.push_back(event);
    };
    const auto by_time = [](const RawSwitch& a, const RawSwitch& b) { return a.at_ns < b.at_ns; };
    if (!std::is_sorted(switches.begin(), switches.end(), by_time)) {
        std::stable_sort(switches.begin(), switches.end(), by_time);
    }
    if (cpu >= recording_.cpus.size()) recording_.cpus.resize(cpu + 1);
    auto& tenures = recording_.cpus[cpu];
    tenures.reserve(switches.size() + 1);
    // The thread that ran before the first switch had been running since the recording began. CPUs
    // start recording one after the other, so the first switch may precede the recording's official
    // begin.
    std::uint32_t current = switches.front().prev_tid;
    std::uint64_t last_ns = std::min(recording_.begin_ns, switches.front().at_ns - 1);
    if (current != 0) add(current, last_ns, EventKind::SwitchIn, nullptr);
    tenures.push_back({last_ns, current, no_priority, true});
    for (std::size_t i = 0; i < switches.size(); ++i) {
        const RawSwitch& change = switches[i];
        // Two switches at the same time: the merge closes a gap this way, for readers that want an
        // unbroken chain. When the first one really happened, and how its thread stopped, is
        // unknown.
        const bool made_up = i + 1 < switches.size() && switches[i + 1].at_ns == change.at_ns &&
                             switches[i + 1].prev_tid == change.next_tid;
        if (made_up) continue;
        if (change.prev_tid != current) {
            // At least one switch is missing: in between, the thread that stops here came in, and
            // the previous one left.
            ++recording_.switch_gaps;
            if (current != 0) add(current, change.at_ns, EventKind::Lost, nullptr);
            if (change.prev_tid != 0) add(change.prev_tid, last_ns, EventKind::Lost, nullptr);
            tenures.back() = {tenures.back().at_ns, 0, no_priority, false};
        }
        if (change.prev_tid != 0) add(change.prev_tid, change.at_ns, EventKind::SwitchOut, &change);
        if (change.concluded) {
            ++recording_.switch_gaps;
            if (change.prev_tid != 0) add(change.prev_tid, change.at_ns, EventKind::Lost, nullptr);
        }
        if (change.next_tid != 0) add(change.next_tid, change.at_ns, EventKind::SwitchIn, &change);
        // A thread whose priority changed while it ran has the new one without a switch.
        if (tenures.back().known && tenures.back().priority != idle_priority)
            tenures.back().priority =
                std::min(tenures.back().priority, tenure_priority(change.prev_priority));
        tenures.push_back(
            {change.at_ns, change.next_tid, tenure_priority(change.next_priority), true});
        current = change.next_tid;
        last_ns = change.at_ns;
    }
}

void TimelineBuilder::add_switches() {
    for (auto& [cpu, switches] : raw_.switches) {
        recording_.has_scheduling = true;
        add_cpu_switches(cpu, switches);
        std::vector<RawSwitch>().swap(switches);
    }
}

void TimelineBuilder::add_wakings() {
    for (const RawWaking& waking : raw_.wakings) {
        if (waking.wakee_tid == 0) continue;
        input(waking.wakee_tid)
            .events.push_back({waking.at_ns, waking.waker_tid, EventKind::Waking,
                               SwitchOut::Runnable, waking.by_interrupt, waking.cause,
                               waking.device});
    }
    std::vector<RawWaking>().swap(raw_.wakings);
}

void TimelineBuilder::add_wait_files() {
    for (const RawWaitFile& wait : raw_.wait_files) {
        recording_.waited_files.push_back(wait.file);
        input(wait.tid).files.push_back(
            {wait.at_ns, static_cast<std::uint32_t>(recording_.waited_files.size())});
    }
    std::vector<RawWaitFile>().swap(raw_.wait_files);
    recording_.repeated_syns = std::move(raw_.repeated_syns);
    recording_.refused_connects = std::move(raw_.refused_connects);
    recording_.disk_limits = std::move(raw_.disk_limits);
    std::sort(recording_.disk_limits.begin(), recording_.disk_limits.end(),
              [](const DiskLimit& a, const DiskLimit& b) { return a.at_ns < b.at_ns; });
    recording_.socket_owners = std::move(raw_.socket_owners);
    recording_.written_files = std::move(raw_.written_files);
    recording_.file_writers = std::move(raw_.file_writers);
    recording_.spans = std::move(raw_.spans);
    recording_.group_memory = raw_.group_memory;
}

void TimelineBuilder::add_samples() {
    for (const RawSample& sample : raw_.samples) {
        if (sample.tid == 0) continue;
        recording_.threads[place_of(sample.tid, sample.pid)].samples.push_back(
            {sample.at_ns, sample.stack, sample.cpu});
    }
    for (const RawSample& sample : raw_.off_cpu) {
        if (sample.tid == 0) continue;
        inputs_[place_of(sample.tid, sample.pid)].off_cpu.push_back(
            {sample.at_ns, sample.stack, sample.lock});
        if (sample.lock != 0 && sample.lock_owner != 0)
            recording_.lock_sightings.push_back({sample.at_ns, sample.lock, sample.lock_owner});
    }
}

// A CPU without any switch in the recording ran one thread throughout; its samples say which.
void TimelineBuilder::add_unswitched_cpus() {
    std::map<std::uint32_t, std::uint32_t> only_thread;  // by CPU
    for (const RawSample& sample : raw_.samples) {
        if (raw_.switches.contains(sample.cpu)) continue;
        const auto [place, added] = only_thread.emplace(sample.cpu, sample.tid);
        if (!added && place->second != sample.tid) place->second = 0;
    }
    for (const auto& [cpu, tid] : only_thread) {
        if (tid == 0) continue;
        ThreadEvent event{recording_.begin_ns, 0, EventKind::SwitchIn};
        event.cpu = static_cast<std::uint16_t>(cpu);
        input(tid).events.push_back(event);
        if (cpu >= recording_.cpus.size()) recording_.cpus.resize(cpu + 1);
        recording_.cpus[cpu].push_back({recording_.begin_ns, tid, no_priority, true});
    }
}

// Locks on files are identified by the file. No address is that low, so the number cannot collide
// with another object's.
void TimelineBuilder::wait_for_file(StateChange& state, std::uint32_t place) const {
    state.file = place;
    const WaitedFile& file = recording_.waited_files[place - 1];
    if (file.kind == WaitFileKind::Lock && file.path != 0) state.lock = raw_.lock_of(file.path);
}

StateChange TimelineBuilder::initial_state(const Thread& thread, const ThreadInput& input) const {
    StateChange state;
    state.at_ns = recording_.begin_ns;
    if (!input.off_cpu.empty() &&
        (input.events.empty() || input.off_cpu.front().at_ns < input.events.front().at_ns)) {
        state.state = ThreadState::Blocked;
        state.stack = input.off_cpu.front().stack;
        state.lock = input.off_cpu.front().lock;
    } else if (!input.events.empty() && input.events.front().kind == EventKind::Waking) {
        state.state = ThreadState::Blocked;
    } else if (!input.events.empty() && input.events.front().kind == EventKind::SwitchIn &&
               thread.alive_at_start) {
        state.state = ThreadState::Runnable;
    }
    const bool slept = state.state == ThreadState::Blocked && !input.files.empty();
    if (slept && (input.events.empty() || input.files.front().at_ns < input.events.front().at_ns))
        wait_for_file(state, input.files.front().place);
    return state;
}

void TimelineBuilder::make_changes(Thread& thread, ThreadInput& input) const {
    const auto& events = input.events;
    std::vector<StateChange>& changes = thread.changes;
    changes.reserve(events.size() + 1);
    changes.push_back(initial_state(thread, input));
    const ThreadEvent* early = nullptr;
    std::size_t stack_place = 0, file_place = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const ThreadEvent& event = events[i];
        StateChange next;
        next.at_ns = std::max(event.at_ns, recording_.begin_ns);
        const ThreadState state = changes.back().state;
        switch (event.kind) {
            case EventKind::SwitchIn:
                if (state == ThreadState::Running) changes.back().state = ThreadState::NotRecorded;
                if (event.throttling != 0)
                    mark_throttled(changes, raw_.throttlings[event.throttling - 1], next.at_ns);
                next.cpu = event.cpu;
                next.state = ThreadState::Running;
                early = nullptr;
                changes.push_back(next);
                break;
            case EventKind::Waking:
                if (state == ThreadState::Running) early = &event;
                if (state == ThreadState::Running || state == ThreadState::Runnable) break;
                next.state = ThreadState::Runnable;
                wake(next, event);
                changes.push_back(next);
                break;
            case EventKind::Lost:
                if (state == ThreadState::Running) changes.back().state = ThreadState::NotRecorded;
                if (state != ThreadState::Running) changes.push_back(next);
                break;
            case EventKind::SwitchOut: {
                if (state != ThreadState::Running) changes.back().state = ThreadState::NotRecorded;
                next.state = event.out == SwitchOut::Blocked  ? ThreadState::Blocked
                             : event.out == SwitchOut::Exited ? ThreadState::Exited
                                                              : ThreadState::Runnable;
                while (stack_place < input.off_cpu.size() &&
                       input.off_cpu[stack_place].at_ns < event.at_ns) {
                    ++stack_place;
                }
                if (stack_place < input.off_cpu.size() &&
                    input.off_cpu[stack_place].at_ns == event.at_ns) {
                    next.stack = input.off_cpu[stack_place].stack;
                    next.lock = input.off_cpu[stack_place].lock;
                }
                while (file_place < input.files.size() &&
                       input.files[file_place].at_ns < event.at_ns)
                    ++file_place;
                if (file_place < input.files.size() && input.files[file_place].at_ns == event.at_ns)
                    wait_for_file(next, input.files[file_place].place);
                const bool runs_next =
                    i + 1 < events.size() && events[i + 1].kind == EventKind::SwitchIn;
                next.throttled = next.state == ThreadState::Runnable && event.throttled;
                next.yielded = next.state == ThreadState::Runnable && event.yielded;
                if (next.state == ThreadState::Blocked && early != nullptr && runs_next &&
                    event.at_ns - early->at_ns < early_waking_ns) {
                    next.state = ThreadState::Runnable;
                    wake(next, *early);
                }
                changes.push_back(next);
                break;
            }
        }
    }
    const auto later = std::find_if(changes.begin(), changes.end(), [&](const StateChange& change) {
        return change.at_ns > changes.front().at_ns;
    });
    changes.erase(changes.begin(), later - 1);
}

void TimelineBuilder::build() {
    add_known_threads();
    add_samples();
    if (!raw_.switches.empty()) add_unswitched_cpus();
    add_switches();
    add_wakings();
    add_wait_files();
    for (std::size_t i = 0; i < recording_.threads.size(); ++i) {
        Thread& thread = recording_.threads[i];
        ThreadInput& input = inputs_[i];
        std::stable_sort(input.events.begin(), input.events.end());
        const auto by_time = [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; };
        std::stable_sort(input.off_cpu.begin(), input.off_cpu.end(), by_time);
        std::stable_sort(input.files.begin(), input.files.end(), by_time);
        if (!std::is_sorted(thread.samples.begin(), thread.samples.end(), by_time))
            std::stable_sort(thread.samples.begin(), thread.samples.end(), by_time);
        if (recording_.has_scheduling) make_changes(thread, input);
        input = ThreadInput{};
    }
    std::sort(recording_.threads.begin(), recording_.threads.end(),
              [](const Thread& a, const Thread& b) { return a.tid < b.tid; });
}

}  // namespace

void build_timelines(RawTrace& raw, Recording& recording) {
    TimelineBuilder(raw, recording).build();
}

}  // namespace lagtrap::analysis
