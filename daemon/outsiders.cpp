#include "daemon/outsiders.hpp"

#include <boost/json.hpp>

#include "binaries/file_reader.hpp"
#include "core/text.hpp"

namespace lagtrap::daemon {
namespace {

const char* name_of(settings::Callers callers) {
    switch (callers) {
        case settings::Callers::Root: return "root";
        case settings::Callers::Group: return "group";
        case settings::Callers::Anyone: return "anyone";
    }
    return "root";
}

boost::json::object control_report(const ControlServer& control) {
    const settings::Control& rights = control.access().control();
    const ControlServer::Counts& counts = control.counts();
    return {{"read", name_of(rights.read)},
            {"change", name_of(rights.change)},
            {"group", printable(rights.group)},
            {"denied", counts.denied},
            {"turned_away", counts.turned_away}};
}

}  // namespace

void add_outsiders(boost::json::object& report, const Unwinder& unwinder, const ControlServer& control) {
    report["control"] = control_report(control);
    boost::json::array unreadable;
    for (const UnwinderStatus::Unreadable& file : unwinder.status().unreadable)
        unreadable.push_back({{"path", printable(file.path)}, {"problem", printable(file.problem)}});
    const auto* const reader = binaries::file_reader();
    const auto counts = reader ? reader->counts() : binaries::FileReaderCounts{};
    boost::json::value user;
    if (counts.user) user = *counts.user;
    report["file_reader"] = {{"user", std::move(user)},
                             {"as_root", counts.user == 0U},
                             {"problem", printable(counts.start_problem)},
                             {"not_started", counts.not_started},
                             {"started", counts.started},
                             {"ended", counts.ended},
                             {"stopped", counts.stopped},
                             {"last_problem", printable(counts.last_problem)},
                             {"unreadable", std::move(unreadable)}};
}

}  // namespace lagtrap::daemon
