#include "daemon/status/limited_users.hpp"

#include <map>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::daemon::limited_users_test {
namespace {

boost::json::object reported(const UnwinderStatus& unwinder, const InspectionCounts& inspections,
                             const FilesLeftOut& files) {
    boost::json::object report;
    add_inspections(report, unwinder, inspections, files);
    return report;
}

TEST(LimitedUsers, HaveAnEntryEachWithAllTheirLimits) {
    UnwinderStatus unwinder;
    unwinder.spaces.pieces_left_out[1000] = 1;
    unwinder.modules.files_left_out[1000] = 2;
    unwinder.modules.unreadable[1000] = 3;
    unwinder.modules.given_up[1000] = 4;
    unwinder.modules.slow[1000] = 5;
    InspectionCounts inspections;
    inspections.held_up_by[1000] = 6;
    FilesLeftOut files;
    files.mapped[1000] = 7;
    files.copies[1001] = 8;
    const auto report = reported(unwinder, inspections, files);
    const auto& users = report.at("limited_users").as_array();
    ASSERT_EQ(users.size(), 2U);
    const std::map<const char*, int> first{{"mappings_left_out", 1}, {"files_left_out", 2},
                                           {"files_unreadable", 3},  {"tables_given_up", 4},
                                           {"tables_slow", 5},       {"looks_held_up", 6},
                                           {"mappings_omitted", 7},  {"uid", 1000}};
    EXPECT_EQ(users[0].as_object().size(), first.size());
    for (const auto& [name, count] : first)
        EXPECT_EQ(users[0].at(name).to_number<int>(), count) << name;
    EXPECT_EQ(users[1].at("copies_left_out").to_number<int>(), 8);
    EXPECT_EQ(users[1].at("uid").to_number<int>(), 1001);
}

TEST(LimitedUsers, CanBeContainersOrUnknown) {
    FilesLeftOut files;
    files.mapped[first_container_party + 5] = 1;
    files.mapped[unknown_party] = 2;
    const auto report = reported({}, {}, files);
    const auto& users = report.at("limited_users").as_array();
    ASSERT_EQ(users.size(), 2U);
    EXPECT_EQ(users[0].at("namespace").to_number<std::uint64_t>(), first_container_party + 5);
    EXPECT_TRUE(users[1].at("uid").is_null());
}

TEST(LimitedUsers, StandBesideTheInspections) {
    InspectionCounts inspections;
    inspections.started = 1;
    inspections.held_up = 2;
    inspections.refused = 3;
    inspections.stuck = 4;
    inspections.last_held_up = "process 7";
    inspections.start_problem = "no\nroom";
    const auto report = reported({}, inspections, {});
    const std::map<const char*, int> counts{
        {"started", 1}, {"held_up", 2}, {"refused", 3}, {"stuck", 4}};
    for (const auto& [name, count] : counts)
        EXPECT_EQ(report.at("inspections").at(name).to_number<int>(), count) << name;
    EXPECT_EQ(report.at("inspections").at("last_held_up").as_string(), "process 7");
    EXPECT_EQ(report.at("inspections").at("problem").as_string().find('\n'),
              boost::json::string::npos);
    EXPECT_TRUE(report.at("limited_users").as_array().empty());
}

}  // namespace
}  // namespace lagtrap::daemon::limited_users_test
