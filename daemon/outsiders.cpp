#include "daemon/outsiders.hpp"

#include <boost/json/array.hpp>

#include "binaries/file_reader.hpp"
#include "core/text.hpp"

namespace lagtrap::daemon {

void add_outsiders(boost::json::object& report, const Unwinder& unwinder, const ControlServer::Counts& control) {
    report["control"] = {{"denied", control.denied}, {"turned_away", control.turned_away}};
    boost::json::array unreadable;
    for (const UnwinderStatus::Unreadable& file : unwinder.status().unreadable)
        unreadable.push_back({{"path", printable(file.path)}, {"problem", printable(file.problem)}});
    const auto* const reader = binaries::file_reader();
    const auto counts = reader ? reader->counts() : binaries::FileReaderCounts{};
    report["file_reader"] = {{"started", counts.started},
                             {"ended", counts.ended},
                             {"stopped", counts.stopped},
                             {"last_problem", printable(counts.last_problem)},
                             {"unreadable", std::move(unreadable)}};
}

}  // namespace lagtrap::daemon
