#include "cli/why/why_target.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "cli/control/process_name.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

bool is_number(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::set<std::uint32_t> without_own(const std::vector<std::uint32_t>& pids) {
    std::set<std::uint32_t> others(pids.begin(), pids.end());
    others.erase(static_cast<std::uint32_t>(::getpid()));
    return others;
}

}  // namespace

Result<WhyTarget> find_why_target(const std::string& text, const std::filesystem::path& proc_root) {
    WhyTarget target;
    if (is_number(text)) {
        TRY_ASSIGN(const std::uint32_t pid, find_process(text, proc_root));
        target.pids.insert(pid);
        return target;
    }
    target.pids = without_own(processes_named(text, proc_root));
    if (target.pids.size() > 1) target.name = text;
    if (!target.pids.empty()) return target;
    target.name = text.find('.') == std::string::npos ? text + ".service" : text;
    target.unit = true;
    target.pids = without_own(processes_of_unit(target.name, proc_root));
    if (!target.pids.empty()) return target;
    return make_error(ErrorKind::NotFound,
                      "no process is named " + printable(text) + ", and the unit " +
                          printable(target.name) +
                          " has no processes; \"ps -e\" lists processes, \"systemctl\" units");
}

void add_new_processes(WhyTarget& target, const std::filesystem::path& proc_root) {
    if (target.name.empty()) return;
    target.pids.merge(without_own(target.unit ? processes_of_unit(target.name, proc_root)
                                              : processes_named(target.name, proc_root)));
}

}  // namespace lagtrap::cli
