#include "analysis/machine_timeline.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/time_split.hpp"
#include "analysis/wait_chain.hpp"

namespace lagtrap::analysis {

namespace {

MachineState state_of(const Interval& interval) {
    switch (interval.state) {
        case ThreadState::Running: return MachineState::OnCpu;
        case ThreadState::Runnable:
            return interval.throttled ? MachineState::Throttled : MachineState::Runnable;
        default: return MachineState::Blocked;
    }
}

// The states of one thread; those shorter than `finest_ns` are merged with their short neighbours.
class ThreadCells {
  public:
    ThreadCells(std::vector<MachineCell>& cells, std::uint64_t finest_ns)
        : cells_(cells), finest_ns_(finest_ns) {}

    void add(const Interval& interval) {
        const bool known =
            interval.gap == Interval::Gap::None && interval.state != ThreadState::NotRecorded;
        if (interval.length_ns() >= finest_ns_) {
            flush();
            if (known) cells_.push_back(cell_of(interval));
            return;
        }
        // Short unknown periods are absorbed by their neighbours.
        if (parts_ == 0 && !known) return;
        if (parts_ == 0) open_ = cell_of(interval);
        open_.to_ns = interval.end_ns;
        ++parts_;
        if (known && interval.state == ThreadState::Running) on_cpu_ns_ += interval.length_ns();
        if (known && interval.state == ThreadState::Runnable) runnable_ns_ += interval.length_ns();
        if (open_.to_ns - open_.from_ns >= finest_ns_) flush();
    }
    void flush() {
        if (parts_ > 1) {
            open_.state = MachineState::Several;
            open_.on_cpu_ns = on_cpu_ns_;
            open_.runnable_ns = runnable_ns_;
        }
        if (parts_ > 0) cells_.push_back(open_);
        parts_ = on_cpu_ns_ = runnable_ns_ = 0;
    }

  private:
    static MachineCell cell_of(const Interval& interval) {
        MachineCell cell{interval.begin_ns, interval.end_ns, state_of(interval)};
        cell.cpu = interval.cpu;
        cell.stack = interval.stack;
        return cell;
    }

    std::vector<MachineCell>& cells_;
    std::uint64_t finest_ns_;
    MachineCell open_;
    std::uint64_t parts_ = 0, on_cpu_ns_ = 0, runnable_ns_ = 0;
};

// As ThreadCells, for a CPU: the threads that had it.
class CpuCells {
  public:
    CpuCells(std::vector<CpuCell>& cells, std::uint64_t finest_ns)
        : cells_(cells), finest_ns_(finest_ns) {}

    void add(std::uint64_t from_ns, std::uint64_t to_ns, std::uint32_t tid, bool known) {
        const std::uint64_t length_ns = to_ns - from_ns;
        if (length_ns >= finest_ns_) {
            flush();
            if (known) cells_.push_back({from_ns, to_ns, tid, false, tid == 0 ? 0 : length_ns});
            return;
        }
        if (times_.empty() && !known) return;
        if (times_.empty()) open_ = {from_ns, to_ns, tid, false, 0};
        open_.to_ns = to_ns;
        if (known && tid != 0) open_.busy_ns += length_ns;
        if (known) times_[tid] += length_ns;
        if (open_.to_ns - open_.from_ns >= finest_ns_) flush();
    }
    void flush() {
        if (times_.empty()) return;
        open_.several = times_.size() > 1;
        std::uint64_t longest_ns = 0;
        for (const auto& [tid, time_ns] : times_)
            if (tid != 0 && time_ns >= longest_ns) {
                longest_ns = time_ns;
                open_.tid = tid;
            }
        cells_.push_back(open_);
        times_.clear();
    }

  private:
    std::vector<CpuCell>& cells_;
    std::uint64_t finest_ns_;
    CpuCell open_;
    std::unordered_map<std::uint32_t, std::uint64_t> times_;
};

class MachineMaker {
  public:
    MachineMaker(const Recording& recording, const trace::Delay& delay, const MachineLimits& limits)
        : recording_(recording), delay_(delay), limits_(limits) {
        for (const std::uint32_t tid : {delay.begin_tid, delay.end_tid}) own_.insert(tid);
        for (const trace::StageTime& stage : delay.stages) own_.insert(stage.tid);
    }

    MachineTimeline make(MachineWindow window) {
        clip(window);
        if (out_.to_ns == out_.from_ns) return std::move(out_);
        choose_threads();
        const std::uint64_t length_ns = out_.to_ns - out_.from_ns;
        out_.finest_ns =
            std::max<std::uint64_t>(1, length_ns / std::max<std::uint32_t>(1, window.columns));
        // Once finest_ns exceeds the window, no row has two cells, so stop.
        while (!fill() && out_.finest_ns <= length_ns) out_.finest_ns *= 2;
        add_samples();
        add_runs();
        return std::move(out_);
    }

  private:
    void clip(MachineWindow window) {
        out_.begin_ns = delay_.begin_ns;
        // Clips to the recording, so that sums cannot overflow.
        const auto at = [&](std::int64_t after_ns) {
            const auto size_ns =
                static_cast<std::uint64_t>(after_ns < 0 ? -(after_ns + 1) : after_ns);
            const std::uint64_t moment_ns =
                after_ns < 0 ? delay_.begin_ns - std::min(delay_.begin_ns, size_ns + 1)
                             : delay_.begin_ns + std::min(UINT64_MAX - delay_.begin_ns, size_ns);
            return std::clamp(moment_ns, recording_.begin_ns,
                              std::max(recording_.begin_ns, recording_.end_ns));
        };
        out_.from_ns = at(window.from_ns);
        out_.to_ns = std::max(out_.from_ns, at(window.to_ns));
    }

    [[nodiscard]] std::vector<Interval> intervals_of(const Thread& thread) const {
        return intervals_of_thread(recording_, thread.tid, {out_.from_ns, out_.to_ns});
    }

    void choose_threads() {
        std::vector<MachineThread> others;
        for (const Thread& thread : recording_.threads) {
            if (thread.tid == 0) continue;
            MachineThread row{&thread, own_.contains(thread.tid)};
            for (const Interval& interval : intervals_of(thread)) {
                if (interval.gap != Interval::Gap::None) continue;
                if (interval.state == ThreadState::Running) row.on_cpu_ns += interval.length_ns();
                if (interval.state == ThreadState::Runnable)
                    row.runnable_ns += interval.length_ns();
                if (interval.state == ThreadState::Blocked) row.blocked_ns += interval.length_ns();
            }
            if (row.of_delay || row.on_cpu_ns + row.runnable_ns > 0)
                out_.threads.push_back(std::move(row));
            else if (row.blocked_ns > 0)
                ++out_.asleep;
        }
        const auto rank = [&](const MachineThread& row) {
            return row.of_delay ? 0 : row.thread->pid == delay_.begin_pid ? 1 : 2;
        };
        std::stable_sort(out_.threads.begin(), out_.threads.end(),
                         [&](const MachineThread& a, const MachineThread& b) {
                             if (rank(a) != rank(b)) return rank(a) < rank(b);
                             return a.on_cpu_ns + a.runnable_ns > b.on_cpu_ns + b.runnable_ns;
                         });
        if (out_.threads.size() <= limits_.threads) return;
        out_.threads_left_out = out_.threads.size() - limits_.threads;
        out_.threads.resize(limits_.threads);
    }

    // Returns true if everything fits.
    bool fill() {
        std::size_t cells = 0;
        out_.wakes.clear();
        out_.wakes_left_out = 0;
        fill_cpus(cells);
        for (MachineThread& row : out_.threads) {
            row.cells.clear();
            ThreadCells states(row.cells, out_.finest_ns);
            for (const Interval& interval : intervals_of(*row.thread)) {
                states.add(interval);
                if (interval.state == ThreadState::Blocked && interval.woken &&
                    interval.end_ns < out_.to_ns && interval.length_ns() >= out_.finest_ns)
                    add_wake(interval);
            }
            states.flush();
            cells += row.cells.size();
            if (cells > limits_.cells) return false;
        }
        return cells <= limits_.cells;
    }

    void fill_cpus(std::size_t& cells) {
        out_.cpus.assign(recording_.cpus.size(), {});
        for (std::size_t cpu = 0; cpu < out_.cpus.size(); ++cpu) {
            CpuCells row(out_.cpus[cpu], out_.finest_ns);
            const auto& tenures = recording_.cpus[cpu];
            for (std::size_t i = 0; i < tenures.size(); ++i) {
                const std::uint64_t from_ns = std::max(tenures[i].at_ns, out_.from_ns);
                const std::uint64_t until_ns =
                    i + 1 < tenures.size() ? tenures[i + 1].at_ns : recording_.end_ns;
                const std::uint64_t to_ns = std::min(until_ns, out_.to_ns);
                if (to_ns <= from_ns) continue;
                row.add(from_ns, to_ns, tenures[i].tid, tenures[i].known);
            }
            row.flush();
            cells += out_.cpus[cpu].size();
        }
    }

    void add_wake(const Interval& wait) {
        if (out_.wakes.size() >= limits_.wakes) {
            ++out_.wakes_left_out;
            return;
        }
        const bool by_thread = !ended_by_nobody(recording_, wait) && wait.waker_tid != wait.tid;
        out_.wakes.push_back({wait.end_ns, wait.tid, by_thread ? wait.waker_tid : 0,
                              wait.wake_cause, wait.wake_device});
    }

    void add_samples() {
        std::size_t room = limits_.samples;
        for (MachineThread& row : out_.threads) {
            std::uint64_t next_ns = 0;
            for_samples(*row.thread, {out_.from_ns, out_.to_ns}, [&](const Sample& sample) {
                if (sample.at_ns < next_ns || room == 0) {
                    ++out_.samples_left_out;
                    return;
                }
                --room;
                next_ns = sample.at_ns + out_.finest_ns;
                row.samples.push_back(sample);
            });
        }
    }

    void add_runs() {
        for (const Run& run : recording_.runs)
            if (run.end_ns >= out_.from_ns && run.begin_ns <= out_.to_ns && run.id != delay_.run_id)
                out_.runs.push_back(&run);
        std::stable_sort(out_.runs.begin(), out_.runs.end(), [](const Run* a, const Run* b) {
            return a->end_ns - a->begin_ns > b->end_ns - b->begin_ns;
        });
        if (out_.runs.size() > limits_.runs) {
            out_.runs_left_out = out_.runs.size() - limits_.runs;
            out_.runs.resize(limits_.runs);
        }
    }

    const Recording& recording_;
    const trace::Delay& delay_;
    const MachineLimits& limits_;
    std::unordered_set<std::uint32_t> own_;
    MachineTimeline out_;
};

}  // namespace

MachineTimeline machine_timeline(const Recording& recording, const trace::Delay& delay,
                                 MachineWindow window, const MachineLimits& limits) {
    return MachineMaker(recording, delay, limits).make(window);
}

}  // namespace lagtrap::analysis
