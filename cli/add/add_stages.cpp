#include "cli/add/add_stages.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "cli/add/add_offers.hpp"
#include "cli/add/event_names.hpp"

namespace lagtrap::cli {
namespace {

constexpr std::size_t calls_followed = 8;
constexpr double min_time_share = 0.05;
constexpr std::uint64_t min_permille = 50, nearly_all_permille = 800;
constexpr std::uint64_t min_runs = 5;

struct StageTime {
    std::uint64_t length_ns = 0;
    std::uint64_t begins_ns = 0;  // sum over the runs that reach it
    std::uint64_t runs = 0, hits = 0;
};

// Time of each stage; that of others, and that before the first stage, counts for the one before.
class StageTimes {
  public:
    StageTimes(const std::vector<OfferedStage>& stages,
               const std::vector<trace::RecordedRun>& runs) {
        times_[""];
        for (const OfferedStage& stage : stages) times_[stage.name];
        for (const trace::RecordedRun& run : runs) add(run);
    }
    [[nodiscard]] const StageTime& of(const std::string& stage) const { return times_.at(stage); }
    [[nodiscard]] std::uint64_t permille(const std::string& stage) const {
        return total_ns_ == 0
                   ? 0
                   : static_cast<std::uint64_t>(static_cast<double>(of(stage).length_ns) * 1000 /
                                                static_cast<double>(total_ns_));
    }

  private:
    void add(const trace::RecordedRun& run) {
        total_ns_ += run.duration_ns;
        StageTime* now = &times_.at("");
        std::uint64_t since_ns = 0;
        std::set<std::string> reached;
        for (const trace::RunStage& stage : run.stages) {
            const auto next = times_.find(stage.name);
            if (next == times_.end()) continue;
            const std::uint64_t at_ns =
                std::clamp(stage.at_ns, since_ns, std::max(since_ns, run.duration_ns));
            now->length_ns += at_ns - since_ns;
            since_ns = at_ns;
            now = &next->second;
            ++now->hits;
            if (!reached.insert(stage.name).second) continue;
            ++now->runs;
            now->begins_ns += at_ns;
        }
        now->length_ns += run.duration_ns - std::min(run.duration_ns, since_ns);
    }

    std::map<std::string, StageTime> times_;
    std::uint64_t total_ns_ = 0;
};

}  // namespace

void CalleeTimes::add(const std::vector<std::string>& path, std::uint64_t time_ns) {
    std::set<std::string_view> seen;
    for (std::size_t depth = 0; depth < path.size(); ++depth) {
        if (!seen.insert(path[depth]).second) continue;
        Times& times = functions_[path[depth]];
        times.total_ns += time_ns;
        if (depth + 1 < path.size() && path[depth + 1] != path[depth])
            times.callees_ns[path[depth + 1]] += time_ns;
    }
}

std::vector<SeenCallee> CalleeTimes::callees_of(const std::string& function, double scale) const {
    std::vector<SeenCallee> callees;
    const auto found = functions_.find(function);
    if (found == functions_.end() || found->second.total_ns == 0) return callees;
    for (const auto& [name, time_ns] : found->second.callees_ns) {
        const double share =
            scale * static_cast<double>(time_ns) / static_cast<double>(found->second.total_ns);
        if (share >= min_time_share)
            callees.push_back({name, static_cast<std::uint64_t>(share * 1000)});
    }
    std::stable_sort(callees.begin(), callees.end(), [](const auto& a, const auto& b) {
        return a.share_permille > b.share_permille;
    });
    if (callees.size() > max_dividing_callees) callees.resize(max_dividing_callees);
    return callees;
}

std::vector<SeenCallee> CalleeTimes::dividing(const std::string& function) const {
    const std::vector<SeenCallee> own = callees_of(function, 1);
    std::vector<SeenCallee> callees = own;
    for (std::size_t depth = 0; depth < calls_followed && callees.size() == 1; ++depth) {
        if (callees[0].share_permille < nearly_all_permille || callees[0].name == function) break;
        callees =
            callees_of(callees[0].name, static_cast<double>(callees[0].share_permille) / 1000);
    }
    std::erase_if(callees, [&](const SeenCallee& callee) { return callee.name == function; });
    return callees.size() > 1 ? callees : own;
}

std::vector<OfferedStage> stages_at(const std::vector<std::string>& written) {
    std::vector<OfferedStage> stages;
    std::set<std::string> names{"cold", "warm"};  // these have a meaning of their own
    for (const std::string& function : written) {
        const std::string name = setting_name(function);
        std::string unused = name;
        for (int number = 2; !names.insert(unused).second; ++number)
            unused = fmt::format("{}-{}", name, number);
        stages.push_back({unused, function, 0, 0});
    }
    return stages;
}

StageCheck check_stages(std::vector<OfferedStage> stages,
                        const std::vector<trace::RecordedRun>& all) {
    std::vector<trace::RecordedRun> runs;
    std::copy_if(all.begin(), all.end(), std::back_inserter(runs),
                 [](const auto& run) { return run.dirty_reasons == 0 && !run.without_stages; });
    StageCheck check{runs.size(), {}, 0};
    if (runs.size() < min_runs) return check;
    const StageTimes first(stages, runs);
    std::erase_if(stages, [&](const OfferedStage& stage) {
        const StageTime& time = first.of(stage.name);
        return time.runs == 0 || time.hits > 2 * time.runs;
    });
    for (; !stages.empty();) {
        const StageTimes times(stages, runs);
        for (OfferedStage& stage : stages) {
            stage.share_permille = times.permille(stage.name);
            stage.runs = times.of(stage.name).runs;
        }
        check.before_permille = times.permille("");
        const auto smallest = std::min_element(
            stages.begin(), stages.end(),
            [](const auto& a, const auto& b) { return a.share_permille < b.share_permille; });
        if (smallest->share_permille < min_permille) {
            stages.erase(smallest);
            continue;
        }
        std::stable_sort(stages.begin(), stages.end(), [&](const auto& a, const auto& b) {
            return times.of(a.name).begins_ns / a.runs < times.of(b.name).begins_ns / b.runs;
        });
        break;
    }
    if (stages.size() == 1 && check.before_permille < min_permille) stages.clear();
    check.stages = std::move(stages);
    return check;
}

}  // namespace lagtrap::cli
