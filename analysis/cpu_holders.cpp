#include "analysis/cpu_holders.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace lagtrap::analysis {

namespace {

// Tenures examined for all waits together: some seconds of the busiest CPU.
constexpr std::uint64_t tenure_limit = 2'000'000;
constexpr std::size_t holder_limit = 10;

struct Running {
    // the CPUs on which the thread ran before and after a wait
    std::optional<std::uint16_t> before, after;
    bool woken = false;
};

Running running_around(const Thread& thread, const Interval& wait) {
    Running found;
    const auto& changes = thread.changes;
    const auto after = std::upper_bound(
        changes.begin(), changes.end(), wait.begin_ns,
        [](std::uint64_t at, const StateChange& change) { return at < change.at_ns; });
    for (auto change = after; change != changes.begin();) {
        --change;
        if (change->state == ThreadState::Runnable) found.woken = found.woken || change->woken;
        if (change->state == ThreadState::Running) {
            found.before = change->cpu;
            break;
        }
        if (change->state == ThreadState::NotRecorded) break;
    }
    const auto next = std::find_if(after, changes.end(), [](const StateChange& change) {
        return change.state != ThreadState::Runnable;
    });
    if (next != changes.end() && next->state == ThreadState::Running) found.after = next->cpu;
    return found;
}

class HolderCount {
  public:
    explicit HolderCount(const Recording& recording) : recording_(recording) {}

    void add(const Interval& wait) {
        waits_.time_ns += wait.length_ns();
        const Thread* thread = recording_.find_thread(wait.tid);
        if (thread != nullptr) own_pid_ = thread->pid;
        const Running running = thread != nullptr ? running_around(*thread, wait) : Running{};
        std::optional<std::uint16_t> cpu = running.woken ? running.after : running.before;
        if (!cpu) cpu = running.woken ? running.before : running.after;
        if (!cpu || *cpu >= recording_.cpus.size() || visited_ > tenure_limit) {
            waits_.unknown_ns += wait.length_ns();
            return;
        }
        if (!running.woken) waits_.preempted_ns += wait.length_ns();
        if (running.after) note_priority(*running.after, wait);
        if (running.after && *running.after != *cpu) waits_.elsewhere_ns += wait.length_ns();
        cpus_.insert(*cpu);
        const std::uint64_t idle_before_ns = waits_.idle_ns;
        add_tenures(recording_.cpus[*cpu], wait);
        if (running.woken) waits_.slow_wakeups_ns += waits_.idle_ns - idle_before_ns;
    }

    CpuWaits take() {
        waits_.cpus.assign(cpus_.begin(), cpus_.end());
        if (own_pid_ != 0) add_own_threads();
        for (auto& [pid, threads] : held_) waits_.holders.push_back(holder_of(pid, threads));
        std::stable_sort(
            waits_.holders.begin(), waits_.holders.end(),
            [](const CpuHolder& a, const CpuHolder& b) { return a.time_ns > b.time_ns; });
        if (waits_.holders.size() > holder_limit) waits_.holders.resize(holder_limit);
        return std::move(waits_);
    }

  private:
    struct Held {
        std::uint64_t time_ns = 0;
        std::uint16_t priority = no_priority;
    };

    void note_priority(std::uint16_t cpu, const Interval& wait) {
        if (cpu >= recording_.cpus.size()) return;
        const auto& tenures = recording_.cpus[cpu];
        const auto own = std::lower_bound(
            tenures.begin(), tenures.end(), wait.end_ns,
            [](const CpuTenure& known, std::uint64_t at) { return known.at_ns < at; });
        if (own != tenures.end() && own->tid == wait.tid && own->priority != no_priority)
            waits_.priority = own->priority;
    }

    void add_tenures(const std::vector<CpuTenure>& tenures, const Interval& wait) {
        auto tenure = std::upper_bound(
            tenures.begin(), tenures.end(), wait.begin_ns,
            [](std::uint64_t at, const CpuTenure& known) { return at < known.at_ns; });
        std::uint64_t known_ns = 0;
        if (tenure != tenures.begin()) --tenure;
        for (; tenure != tenures.end() && tenure->at_ns < wait.end_ns; ++tenure, ++visited_) {
            const std::uint64_t until_ns =
                tenure + 1 == tenures.end() ? recording_.end_ns : (tenure + 1)->at_ns;
            const std::uint64_t from_ns = std::max(tenure->at_ns, wait.begin_ns);
            const std::uint64_t to_ns = std::min(until_ns, wait.end_ns);
            if (to_ns <= from_ns || !tenure->known) continue;
            known_ns += to_ns - from_ns;
            if (tenure->tid == 0) {
                waits_.idle_ns += to_ns - from_ns;
                continue;
            }
            const Thread* thread = recording_.find_thread(tenure->tid);
            Held& held = held_[thread != nullptr ? thread->pid : 0][tenure->tid];
            held.time_ns += to_ns - from_ns;
            if (tenure->priority != no_priority) held.priority = tenure->priority;
        }
        waits_.unknown_ns += wait.length_ns() - known_ns;
    }

    // Lists threads with a fifth of the time or more separately; the others remain one entry.
    void add_own_threads() {
        const auto own = held_.find(own_pid_);
        if (own == held_.end()) return;
        const std::uint64_t known_ns = waits_.time_ns - std::min(waits_.time_ns, waits_.unknown_ns);
        std::erase_if(own->second, [&](const auto& thread) {
            if (thread.second.time_ns * 5 < known_ns) return false;
            waits_.holders.push_back(holder_of(own_pid_, {thread}));
            return true;
        });
        if (own->second.empty()) held_.erase(own);
    }

    CpuHolder holder_of(std::uint32_t pid, const std::map<std::uint32_t, Held>& threads) const {
        CpuHolder holder;
        holder.pid = pid;
        holder.process = recording_.process_name(pid);
        holder.unit = recording_.unit_of(pid);
        holder.threads = static_cast<std::uint32_t>(threads.size());
        std::uint64_t max_ns = 0;
        for (const auto& [tid, held] : threads) {
            holder.time_ns += held.time_ns;
            if (held.time_ns <= max_ns) continue;
            max_ns = held.time_ns;
            holder.tid = tid;
            holder.thread = recording_.thread_name(tid);
            holder.priority = held.priority;
        }
        return holder;
    }

    const Recording& recording_;
    CpuWaits waits_;
    std::uint32_t own_pid_ = 0;  // of the last thread that waited
    std::set<std::uint16_t> cpus_;
    std::map<std::uint32_t, std::map<std::uint32_t, Held>> held_;  // by process and thread
    std::uint64_t visited_ = 0;
};

}  // namespace

CpuWaits cpu_waits_of(const Recording& recording, const std::vector<Interval>& intervals) {
    HolderCount count(recording);
    for (const Interval& interval : intervals) {
        if (interval.state == ThreadState::Runnable && interval.gap == Interval::Gap::None)
            count.add(interval);
    }
    return count.take();
}

}  // namespace lagtrap::analysis
