#include "analysis/machine_before.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/frame_role.hpp"

namespace lagtrap::analysis {
namespace {

constexpr std::size_t max_shown = 20;
constexpr std::uint64_t min_length_ns = 100'000'000;  // shorter histories have only a few samples

struct Use {
    std::set<std::uint32_t> pids;
    std::uint64_t samples = 0;
    std::map<NameId, std::uint64_t> functions;
};

// Innermost function of the script if there is one, else of the program; 0 if that has no name.
NameId function_of(const Recording& recording, StackId stack) {
    const auto& frames = recording.stacks[stack];
    for (auto place = frames.rbegin(); place != frames.rend(); ++place) {
        const Frame& frame = recording.frames[*place];
        if (frame.named && role_of(recording, frame) == FrameRole::RunTimeCode) return frame.label;
    }
    for (auto place = frames.rbegin(); place != frames.rend(); ++place) {
        const Frame& frame = recording.frames[*place];
        if (!frame.kernel) return frame.named ? frame.label : 0;
    }
    return 0;
}

EarlierProcess described(const Recording& recording, const std::string& name, const Use& use,
                         double of_all) {
    EarlierProcess process;
    process.name = name;
    process.processes = use.pids.size();
    process.pid = use.pids.size() == 1 ? *use.pids.begin() : 0;
    const std::string& unit = recording.unit_of(*use.pids.begin());
    if (std::all_of(use.pids.begin(), use.pids.end(),
                    [&](const std::uint32_t pid) { return recording.unit_of(pid) == unit; }))
        process.unit = unit;
    process.share = static_cast<double>(use.samples) / of_all;
    const auto most =
        std::max_element(use.functions.begin(), use.functions.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == use.functions.end() || most->first == 0) return process;
    process.function = recording.name(most->first);
    process.function_share = static_cast<double>(most->second) / static_cast<double>(use.samples);
    return process;
}

std::vector<EarlierDiskWaits> disk_waits(const Recording& recording, std::uint64_t from_ns,
                                         std::uint64_t to_ns) {
    std::map<std::uint32_t, EarlierDiskWaits> by_process;
    for (const EarlierWait& wait : recording.earlier_waits) {
        if (wait.in_run || wait.end_ns <= from_ns || wait.begin_ns >= to_ns) continue;
        const Thread* thread = recording.find_thread(wait.tid);
        const std::uint32_t pid = thread != nullptr ? thread->pid : 0;
        EarlierDiskWaits& sum = by_process[pid];
        sum.pid = pid;
        sum.process = recording.process_name(pid);
        sum.unit = recording.unit_of(pid);
        const std::uint64_t length_ns = wait.end_ns - wait.begin_ns;
        ++sum.count;
        sum.total_ns += length_ns;
        sum.longest_ns = std::max(sum.longest_ns, length_ns);
    }
    std::vector<EarlierDiskWaits> waits;
    for (auto& [pid, sum] : by_process) waits.push_back(std::move(sum));
    std::stable_sort(waits.begin(), waits.end(),
                     [](const auto& a, const auto& b) { return a.longest_ns > b.longest_ns; });
    if (waits.size() > max_shown) waits.resize(max_shown);
    return waits;
}

}  // namespace

std::optional<MachineBefore> machine_before(const Recording& recording, const trace::Delay& delay) {
    const std::uint64_t length_ns = recording.system.history_length_ns;
    const std::uint64_t interval_ns = recording.system.history_interval_ns;
    if (length_ns == 0 || interval_ns == 0) return std::nullopt;
    const std::uint64_t from_ns = recording.begin_ns - std::min(recording.begin_ns, length_ns);
    const std::uint64_t to_ns = std::min(delay.begin_ns, recording.begin_ns);
    if (to_ns < from_ns + min_length_ns) return std::nullopt;
    MachineBefore before;
    before.length_ns = to_ns - from_ns;
    std::map<std::string, Use> uses;
    for (const EarlierSample& sample : recording.earlier_samples) {
        if (sample.at_ns < from_ns || sample.at_ns >= to_ns) continue;
        ++before.samples;
        const std::string& name = recording.process_name(sample.pid);
        Use& use = uses[name.empty() ? "unknown" : name];
        use.pids.insert(sample.pid);
        ++use.samples;
        ++use.functions[function_of(recording, sample.stack)];
    }
    const double of_all = static_cast<double>(before.length_ns) / static_cast<double>(interval_ns) *
                          recording.cpu_count;
    before.busy_share = std::min(1.0, static_cast<double>(before.samples) / of_all);
    for (const auto& [name, use] : uses)
        before.processes.push_back(described(recording, name, use, of_all));
    std::stable_sort(before.processes.begin(), before.processes.end(),
                     [](const auto& a, const auto& b) { return a.share > b.share; });
    if (before.processes.size() > max_shown) before.processes.resize(max_shown);
    before.disk_waits = disk_waits(recording, from_ns, to_ns);
    return before;
}

}  // namespace lagtrap::analysis
