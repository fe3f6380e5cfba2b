#include "server/ingest/machine_json.hpp"

#include <algorithm>
#include <set>

#include "analysis/block_reason.hpp"
#include "analysis/wake_cause.hpp"
#include "server/ingest/delay_details.hpp"
#include "server/ingest/stack_table.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::size_t cpus_limit = 1024;
constexpr StackTableLimits stack_limits{128, 1024, 4U << 20, 500'000};

// Tables of numbers are flat arrays; an object for each cell would be three times as long.
class MachineWriter {
  public:
    MachineWriter(const analysis::Recording& recording, const trace::Delay& delay,
                  analysis::MachineTimeline machine)
        : recording_(recording),
          delay_(delay),
          machine_(std::move(machine)),
          stacks_(recording, stack_limits) {}

    std::string write() {
        json::object answer{
            {"begin_ns", std::to_string(recording_.system.started_realtime_ns +
                                        (delay_.begin_ns - recording_.system.started_boottime_ns))},
            {"recorded_from_ns", after(recording_.begin_ns)},
            {"recorded_to_ns", after(recording_.end_ns)},
            {"from_ns", after(machine_.from_ns)},
            {"to_ns", after(machine_.to_ns)},
            {"finest_ns", machine_.finest_ns},
            {"cpus", cpus()},
            {"threads", threads()},
            {"processes", processes()},
            {"wakes", wakes()},
            {"runs", runs()},
            {"asleep", machine_.asleep},
            {"left_out",
             {{"cpus", machine_.cpus.size() - std::min(cpus_limit, machine_.cpus.size())},
              {"threads", machine_.threads_left_out},
              {"wakes", machine_.wakes_left_out},
              {"samples", machine_.samples_left_out},
              {"stacks", stacks_left_out_},
              {"runs", machine_.runs_left_out}}}};
        stacks_.put_into(answer);
        return json::serialize(answer);
    }

  private:
    // Time since the delay's begin.
    [[nodiscard]] std::int64_t after(std::uint64_t at_ns) const {
        return static_cast<std::int64_t>(at_ns - delay_.begin_ns);
    }
    // 0: no stack.
    std::size_t stack_plus_1(analysis::StackId stack) {
        if (stack == 0) return 0;
        const auto index = stacks_.index_of(stack);
        if (!index) ++stacks_left_out_;
        return index ? *index + 1 : 0;
    }

    json::array cpus() {
        json::array rows;
        for (std::size_t cpu = 0; cpu < std::min(machine_.cpus.size(), cpus_limit); ++cpu) {
            json::array cells;
            std::uint64_t end_ns = machine_.from_ns;
            for (const analysis::CpuCell& cell : machine_.cpus[cpu]) {
                cells.push_back(cell.from_ns - end_ns);
                cells.push_back(cell.to_ns - cell.from_ns);
                cells.push_back(cell.tid);
                cells.push_back(cell.several ? 1 + cell.busy_ns * 1000 / (cell.to_ns - cell.from_ns)
                                             : 0);
                end_ns = cell.to_ns;
                if (cell.tid != 0) seen_tids_.insert(cell.tid);
            }
            rows.push_back({{"cpu", cpu}, {"cells", std::move(cells)}});
        }
        return rows;
    }

    json::array cells_of(const analysis::MachineThread& row) {
        json::array cells;
        std::uint64_t end_ns = machine_.from_ns;
        for (const analysis::MachineCell& cell : row.cells) {
            const std::uint64_t length_ns = cell.to_ns - cell.from_ns;
            std::uint64_t first = 0;
            std::uint64_t second = 0;
            if (cell.state == analysis::MachineState::OnCpu) first = cell.cpu;
            if (cell.state == analysis::MachineState::Blocked) {
                first = stacks_.index_of_name(reason_of(cell.stack));
                second = stack_plus_1(cell.stack);
            }
            if (cell.state == analysis::MachineState::Several) {
                first = cell.on_cpu_ns * 1000 / length_ns;
                second = cell.runnable_ns * 1000 / length_ns;
            }
            for (const std::uint64_t number :
                 {cell.from_ns - end_ns, length_ns, static_cast<std::uint64_t>(cell.state), first,
                  second})
                cells.push_back(number);
            end_ns = cell.to_ns;
        }
        return cells;
    }

    const std::string& reason_of(analysis::StackId stack) {
        const auto [known, fresh] = reasons_.try_emplace(stack);
        if (fresh) known->second = analysis::reason_of_stack(recording_, stack);
        return known->second;
    }

    json::array threads() {
        json::array rows;
        for (const analysis::MachineThread& row : machine_.threads) {
            json::array samples;
            std::uint64_t last_ns = machine_.from_ns;
            for (const analysis::Sample& sample : row.samples) {
                samples.push_back(sample.at_ns - last_ns);
                samples.push_back(stack_plus_1(sample.stack));
                last_ns = sample.at_ns;
            }
            rows.push_back({{"tid", row.thread->tid},
                            {"pid", row.thread->pid},
                            {"name", stacks_.index_of_name(recording_.name(row.thread->name))},
                            {"of_delay", row.of_delay},
                            {"on_cpu_ns", row.on_cpu_ns},
                            {"runnable_ns", row.runnable_ns},
                            {"blocked_ns", row.blocked_ns},
                            {"cells", cells_of(row)},
                            {"samples", std::move(samples)}});
            seen_tids_.insert(row.thread->tid);
        }
        return rows;
    }

    json::array wakes() {
        json::array table;
        for (const analysis::MachineWake& wake : machine_.wakes) {
            table.push_back(wake.at_ns - machine_.from_ns);
            table.push_back(wake.tid);
            table.push_back(wake.waker_tid);
            table.push_back(static_cast<unsigned>(wake.cause));
            table.push_back(stacks_.index_of_name(recording_.name(wake.device)));
        }
        return table;
    }

    // Processes of all threads that have a row or appear on a CPU.
    json::array processes() {
        std::set<std::uint32_t> pids;
        for (const std::uint32_t tid : seen_tids_)
            if (const analysis::Thread* thread = recording_.find_thread(tid); thread != nullptr)
                pids.insert(thread->pid);
        json::array rows;
        for (const std::uint32_t pid : pids)
            rows.push_back({{"pid", pid},
                            {"name", stacks_.index_of_name(recording_.process_name(pid))},
                            {"unit", stacks_.index_of_name(recording_.unit_of(pid))}});
        return rows;
    }

    json::object run_json(const std::string& event, std::uint64_t begin_ns, std::uint64_t end_ns,
                          std::uint32_t tid, bool delayed) {
        return {{"event", stacks_.index_of_name(event)},
                {"from_ns", after(begin_ns)},
                {"to_ns", after(end_ns)},
                {"tid", tid},
                {"delayed", delayed},
                {"stages", json::array{}}};
    }

    json::array runs() {
        json::array rows;
        const std::uint64_t delay_end_ns =
            delay_.begin_ns + std::min(delay_.duration_ns, UINT64_MAX / 4);
        json::object own =
            run_json(delay_.event, delay_.begin_ns, delay_end_ns, delay_.begin_tid, true);
        for (const trace::StageTime& stage : delay_.stages)
            if (own["stages"].as_array().size() < stages_limit)
                own["stages"].as_array().push_back(
                    {{"name", stacks_.index_of_name(stage.name)},
                     {"at_ns", std::min(stage.offset_ns, delay_.duration_ns)}});
        rows.push_back(std::move(own));
        for (const analysis::Run* run : machine_.runs)
            rows.push_back(
                run_json(run->event, run->begin_ns, run->end_ns, run->begin_tid, run->delay));
        return rows;
    }

    const analysis::Recording& recording_;
    const trace::Delay& delay_;
    analysis::MachineTimeline machine_;
    StackTable stacks_;
    std::unordered_map<analysis::StackId, std::string> reasons_;
    std::set<std::uint32_t> seen_tids_;
    std::uint64_t stacks_left_out_ = 0;
};

}  // namespace

std::string machine_json(const analysis::Recording& recording, const trace::Delay& delay,
                         const analysis::MachineWindow& window) {
    return MachineWriter(recording, delay, analysis::machine_timeline(recording, delay, window))
        .write();
}

}  // namespace lagtrap::server
