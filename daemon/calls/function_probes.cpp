#include "daemon/calls/function_probes.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "daemon/probes/exit_cookies.hpp"

namespace lagtrap::daemon {

Status FunctionProbes::gather(const PlannedFunction& function, std::uint32_t number,
                              std::uint64_t target_cookie, FileProbes& probes) {
    const std::uint64_t target = function.level == 0 ? target_cookie : 0;
    const std::uint64_t entry = function.probed_entry != 0 ? function.probed_entry : function.entry;
    std::vector<CallProbe> exits;
    for (const binaries::FunctionExit& exit : function.exits) {
        if (const auto known = probes.exit_numbers.find(exit.file_offset);
            known != probes.exit_numbers.end()) {
            probes.exits[known->second].functions.push_back(number);
            probes.exits[known->second].cookie |= LAGTRAP_COOKIE_EXIT_SHARED;
            continue;
        }
        if (exit.by_target) {
            if (exit_sites_ >= LAGTRAP_MAX_EXIT_SITES)
                return make_error(ErrorKind::TooLarge,
                                  "too many indirect jumps that may leave functions");
            const lagtrap_exit_site site = exit_site_of(exit);
            if (bpf_map_update_elem(programs_.exit_sites, &exit_sites_, &site, BPF_ANY) != 0)
                return system_error("register an indirect jump target");
        }
        const std::uint64_t cookie =
            number | exit_cookie_of(exit, exit.by_target ? exit_sites_++ : 0);
        exits.push_back({exit.file_offset, cookie, {number}});
    }
    for (CallProbe& exit : exits) {
        probes.exit_numbers.emplace(exit.offset, probes.exits.size());
        probes.exits.push_back(std::move(exit));
    }
    if (function.exits.empty() && !function.ends_elsewhere)
        probes.returns.push_back({function.entry, number, {number}});
    probes.entries.push_back({entry, number | target, {number}});
    return success();
}

// Attaches exits first, so that the end of every call that is seen to begin is seen too.
Status FunctionProbes::put_in(const CallFile& file, FileProbes& probes,
                              std::vector<CallProbes::Refused>& refused,
                              std::set<std::uint32_t>& without_end) {
    TRY_ASSIGN(auto wrong_exits,
               probes_.attach(programs_.exit, file.file, std::move(probes.exits), false));
    TRY_ASSIGN(auto wrong_returns,
               probes_.attach(programs_.at_return, file.file, std::move(probes.returns), true));
    for (auto* wrong : {&wrong_exits, &wrong_returns})
        for (CallProbes::Refused& one : *wrong)
            if (without_end.insert(one.function).second) refused.push_back(std::move(one));
    return success();
}

// Attaches entries in reverse order: callees before the first function, so that its first call
// gives a complete tree.
Result<std::vector<CallProbes::Refused>> FunctionProbes::attach(
    const std::vector<CallFile>& files, const std::vector<PlannedFunction>& functions,
    std::uint32_t limit, std::uint64_t target_cookie) {
    std::map<std::uint32_t, FileProbes> by_file;
    std::vector<CallProbes::Refused> refused;
    const std::uint32_t first = functions_;
    for (const PlannedFunction& function : functions) {
        const std::uint32_t number = functions_++;
        has_return_probe_.push_back(function.exits.empty() && !function.ends_elsewhere);
        const bool too_many = !has_uprobe_multi() && number >= max_functions_one_by_one;
        if (number >= limit || too_many) {
            refused.push_back({number, fmt::format("over the limit of {} functions{}",
                                                   too_many ? max_functions_one_by_one : limit,
                                                   too_many ? " on a kernel older than 6.6" : "")});
            continue;
        }
        if (const Status gathered = gather(function, number, target_cookie, by_file[function.file]);
            !gathered)
            refused.push_back({number, gathered.error().message});
    }
    std::set<std::uint32_t> without_end;
    for (auto& [file, probes] : by_file) TRY(put_in(files[file], probes, refused, without_end));
    for (auto place = by_file.rbegin(); place != by_file.rend(); ++place) {
        auto& [file, probes] = *place;
        std::erase_if(probes.entries, [&](const CallProbe& probe) {
            return without_end.contains(probe.functions.front());
        });
        std::reverse(probes.entries.begin(), probes.entries.end());
        TRY_ASSIGN(auto wrong, probes_.attach(programs_.entry, files[file].file,
                                              std::move(probes.entries), false));
        for (CallProbes::Refused& one : wrong) refused.push_back(std::move(one));
    }
    if (functions_ != first && refused.size() >= functions_ - first)
        return make_error(ErrorKind::Unsupported, refused.front().reason);
    return refused;
}

}  // namespace lagtrap::daemon
