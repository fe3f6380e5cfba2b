#include "server/ingest/delay_surroundings.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "analysis/cpu_holders.hpp"
#include "analysis/meanwhile.hpp"
#include "analysis/time_split.hpp"
#include "core/json_number.hpp"
#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::size_t processes_limit = 12;
constexpr std::size_t command_limit_bytes = 4096;
std::string command_of(const analysis::Recording& recording, std::uint32_t pid) {
    const auto found = recording.processes.find(pid);
    return found == recording.processes.end()
               ? std::string()
               : shortened(found->second.command_line, command_limit_bytes);
}

json::object machine_json(const trace::SystemFile& system) {
    return {{"kernel", shortened(system.kernel_release)},
            {"os", shortened(system.os_name)},
            {"architecture", shortened(system.architecture)},
            {"cpus", system.cpu_count},
            {"cpu_model", shortened(system.cpu_model)},
            {"memory_bytes", json_number(system.memory_bytes)}};
}

struct CpuUse {
    std::uint64_t known_ns = 0;  // of all CPUs: how long it is known who used them
    std::uint64_t idle_ns = 0;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> processes;  // time and pid, longest first
};

// How the machine's CPUs were used from `begin_ns` to `end_ns`.
CpuUse cpu_use_of(const analysis::Recording& recording, std::uint64_t begin_ns,
                  std::uint64_t end_ns) {
    CpuUse use;
    std::unordered_map<std::uint32_t, std::uint64_t> times;
    for (const auto& tenures : recording.cpus) {
        for (std::size_t i = 0; i < tenures.size(); ++i) {
            const std::uint64_t from_ns = std::max(tenures[i].at_ns, begin_ns);
            const std::uint64_t until_ns =
                std::min(i + 1 < tenures.size() ? tenures[i + 1].at_ns : recording.end_ns, end_ns);
            if (until_ns <= from_ns || !tenures[i].known) continue;
            use.known_ns += until_ns - from_ns;
            const analysis::Thread* thread =
                tenures[i].tid == 0 ? nullptr : recording.find_thread(tenures[i].tid);
            if (tenures[i].tid == 0) use.idle_ns += until_ns - from_ns;
            if (thread != nullptr) times[thread->pid] += until_ns - from_ns;
        }
    }
    for (const auto& [pid, time_ns] : times) use.processes.emplace_back(time_ns, pid);
    std::sort(use.processes.rbegin(), use.processes.rend());
    return use;
}

json::object cpu_use_json(const analysis::Recording& recording, const trace::Delay& delay) {
    const CpuUse use = cpu_use_of(recording, delay.begin_ns, delay.begin_ns + delay.duration_ns);
    json::array processes;
    std::uint64_t others_ns = 0;
    for (const auto& [time_ns, pid] : use.processes) {
        if (processes.size() == processes_limit) {
            others_ns += time_ns;
            continue;
        }
        processes.push_back({{"pid", pid},
                             {"process", shortened(recording.process_name(pid))},
                             {"command_line", command_of(recording, pid)},
                             {"unit", shortened(recording.unit_of(pid))},
                             {"on_cpu_ns", json_number(time_ns)}});
    }
    return {{"known_ns", json_number(use.known_ns)},
            {"idle_ns", json_number(use.idle_ns)},
            {"others_ns", json_number(others_ns)},
            {"other_processes", use.processes.size() - processes.size()},
            {"processes", std::move(processes)}};
}

// The threads that had the CPUs which the delay's threads waited for.
json::array holders_json(const analysis::Recording& recording, const trace::Delay& delay) {
    json::array holders;
    for (const analysis::CpuHolder& holder :
         cpu_waits_of(recording, intervals_of_delay(recording, delay)).holders)
        holders.push_back({{"pid", holder.pid},
                           {"process", shortened(holder.process)},
                           {"thread", shortened(holder.thread)},
                           {"tid", holder.tid},
                           {"threads", holder.threads},
                           {"unit", shortened(holder.unit)},
                           {"real_time_priority", holder.real_time_priority()},
                           {"time_ns", json_number(holder.time_ns)}});
    return holders;
}

json::array started_json(const analysis::Meanwhile& meanwhile) {
    json::array started;
    for (const analysis::Beginning& beginning : meanwhile.beginnings)
        if (beginning.delay_number == 0)
            started.push_back(
                {{"offset_ns", json_number(beginning.offset_ns)},
                 {"pid", beginning.pid},
                 {"process", shortened(beginning.process)},
                 {"command_line", shortened(beginning.command_line, command_limit_bytes)}});
    return started;
}

}  // namespace

json::object surroundings_json(const trace::SystemFile& system,
                               const analysis::Recording* recording, const trace::Delay& delay) {
    json::object surroundings{{"machine", machine_json(system)},
                              {"program", shortened(delay.program)},
                              {"program_version", shortened(delay.program_version)},
                              {"command_line", ""},
                              {"uid", nullptr},
                              {"cpu_use", nullptr},
                              {"cpu_holders", json::array{}},
                              {"started", json::array{}}};
    if (recording == nullptr) return surroundings;
    const auto process = recording->processes.find(delay.begin_pid);
    if (process != recording->processes.end() && process->second.uid)
        surroundings["uid"] = *process->second.uid;
    surroundings["command_line"] = command_of(*recording, delay.begin_pid);
    surroundings["cpu_use"] = cpu_use_json(*recording, delay);
    surroundings["cpu_holders"] = holders_json(*recording, delay);
    surroundings["started"] = started_json(meanwhile_of(*recording, delay));
    return surroundings;
}

}  // namespace lagtrap::server
