#include "cli/reports/report_before.hpp"

#include "cli/console/text_layout.hpp"
#include "cli/reports/report_functions.hpp"

namespace lagtrap::cli {
namespace {

using analysis::MachineBefore;

constexpr std::size_t max_processes = 4, max_waits = 2;
constexpr double min_share = 0.01;
constexpr std::uint64_t min_disk_wait_ns = 10'000'000;  // shorter waits are normal for disks

std::string whose(const std::string& name, std::size_t processes, std::uint32_t pid,
                  const std::string& unit) {
    const std::string known = cut_end(name.empty() ? "unknown" : name, 40);
    const std::string more = unit.empty() ? "" : ", " + cut_end(unit, 30);
    if (processes > 1)
        return known + " (" + counted(processes, "process", "processes") + more + ")";
    return pid == 0 ? known : known + " (" + std::to_string(pid) + more + ")";
}

std::string process_rows(const MachineBefore& before, bool all, std::size_t columns) {
    std::string text;
    std::size_t shown = 0;
    for (const auto& process : before.processes) {
        if (!all && (shown == max_processes || process.share < min_share)) break;
        ++shown;
        std::string row = whose(process.name, process.processes, process.pid, process.unit);
        if (!process.function.empty()) row += ", most in " + cut_end(process.function, 30);
        text +=
            "  " + pad_left(percent(process.share), 5) + "  " + cut_end(row, columns - 9) + "\n";
    }
    return text;
}

std::string disk_rows(const MachineBefore& before, bool all, std::size_t columns) {
    std::string text;
    std::size_t shown = 0;
    for (const auto& waits : before.disk_waits) {
        if (!all && (shown == max_waits || waits.longest_ns < min_disk_wait_ns)) break;
        ++shown;
        const std::string row = whose(waits.process, 1, waits.pid, waits.unit) +
                                " waited for a disk " + counted(waits.count, "time", "times") +
                                ", " + duration(waits.longest_ns) + " at the longest";
        text += "  " + cut_end(row, columns - 2) + "\n";
    }
    return text;
}

}  // namespace

std::string before_part(const analysis::Recording& recording, const trace::Delay& delay,
                        const Paint& paint, bool all, std::size_t columns) {
    const auto before = analysis::machine_before(recording, delay);
    if (!before) return {};
    return section_title(paint, "Before it",
                         "in the last " + duration(before->length_ns) + ", idle " +
                             percent(1 - before->busy_share) + ", by " +
                             counted(before->samples, "call stack", "call stacks")) +
           process_rows(*before, all, columns) + disk_rows(*before, all, columns);
}

boost::json::value before_json(const analysis::Recording& recording, const trace::Delay& delay) {
    const auto before = analysis::machine_before(recording, delay);
    if (!before) return nullptr;
    boost::json::array processes, disk_waits;
    for (const auto& process : before->processes)
        processes.push_back({{"name", process.name},
                             {"processes", process.processes},
                             {"pid", process.pid},
                             {"unit", process.unit},
                             {"share", process.share},
                             {"function", process.function},
                             {"function_share", process.function_share}});
    for (const auto& waits : before->disk_waits)
        disk_waits.push_back({{"process", waits.process},
                              {"pid", waits.pid},
                              {"unit", waits.unit},
                              {"count", waits.count},
                              {"total_ns", waits.total_ns},
                              {"longest_ns", waits.longest_ns}});
    return {{"length_ns", before->length_ns},
            {"samples", before->samples},
            {"busy_share", before->busy_share},
            {"processes", std::move(processes)},
            {"disk_waits", std::move(disk_waits)}};
}

}  // namespace lagtrap::cli
