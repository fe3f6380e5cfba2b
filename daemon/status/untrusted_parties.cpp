#include "daemon/status/untrusted_parties.hpp"

#include <boost/json.hpp>

#include "binaries/reader/file_reader.hpp"
#include "core/text.hpp"
#include "daemon/status/party_report.hpp"
#include "sandbox/other_writers.hpp"

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
    return {{"read", name_of(rights.read)},   {"change", name_of(rights.change)},
            {"trace", name_of(rights.trace)}, {"group", printable(rights.group)},
            {"denied", counts.denied},        {"turned_away", counts.turned_away}};
}

}  // namespace

void add_untrusted_parties(boost::json::object& report, const Unwinder& unwinder,
                           const ControlServer& control) {
    report["control"] = control_report(control);
    boost::json::array unreadable;
    for (const UnreadableFile& file : unwinder.status().unreadable)
        unreadable.push_back(
            {{"path", printable(file.path)}, {"problem", printable(file.problem)}});
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
                             {"stuck", counts.stuck},
                             {"last_problem", printable(counts.last_problem)},
                             {"unreadable", std::move(unreadable)}};
}

void add_limited_looks(boost::json::object& report, const std::vector<LookBudget::Limited>& users) {
    boost::json::array limited;
    for (const LookBudget::Limited& user : users) {
        boost::json::object entry{{"looks", user.looks}, {"put_off", user.put_off}};
        if (is_container(user.user))
            add_party(entry, user.user);
        else
            entry["user"] = printable(user_text(user.user));
        limited.push_back(std::move(entry));
    }
    report["limited_looks"] = std::move(limited);
}

void add_watched_files(boost::json::object& report, const std::vector<WatchedFileStatus>& files) {
    boost::json::array noted;
    for (const WatchedFileStatus& file : files) {
        if (file.other_writers.empty() && file.rearmed == 0 && !file.slow) continue;
        noted.push_back({{"path", printable(file.path)},
                         {"owner", printable(user_text(file.owner))},
                         {"other_writers", printable(file.other_writers)},
                         {"rearmed", file.rearmed},
                         {"again_in_seconds", file.again_in.count()},
                         {"slow", file.slow}});
    }
    report["watched_files"] = std::move(noted);
}

}  // namespace lagtrap::daemon
