#include "daemon/status/limited_users.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include <boost/json.hpp>

#include "core/text.hpp"
#include "daemon/status/party_report.hpp"

namespace lagtrap::daemon {

void add_inspections(boost::json::object& report, const UnwinderStatus& unwinder,
                     const InspectionCounts& inspections, const FilesLeftOut& files) {
    report["inspections"] = {{"started", inspections.started},
                             {"held_up", inspections.held_up},
                             {"refused", inspections.refused},
                             {"stuck", inspections.stuck},
                             {"last_held_up", inspections.last_held_up},
                             {"problem", printable(inspections.start_problem)}};
    const std::array<std::pair<const char*, const LeftOut*>, 8> kinds{{
        {"mappings_left_out", &unwinder.spaces.pieces_left_out},
        {"files_left_out", &unwinder.modules.files_left_out},
        {"files_unreadable", &unwinder.modules.unreadable},
        {"tables_given_up", &unwinder.modules.given_up},
        {"tables_slow", &unwinder.modules.slow},
        {"looks_held_up", &inspections.held_up_by},
        {"mappings_omitted", &files.mapped},
        {"copies_left_out", &files.copies},
    }};
    std::map<Party, boost::json::object> by_user;
    for (const auto& [name, counts] : kinds)
        for (const auto& [user, count] : *counts) by_user[user][name] = count;
    boost::json::array users;
    for (auto& [user, counts] : by_user) {
        add_party(counts, user);
        users.push_back(std::move(counts));
    }
    report["limited_users"] = std::move(users);
}

}  // namespace lagtrap::daemon
