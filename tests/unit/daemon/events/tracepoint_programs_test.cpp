#include "daemon/events/tracepoint_programs.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon {
namespace {

settings::Marker on(std::string category, std::string name) {
    settings::Marker marker;
    marker.kind = settings::MarkerKind::Tracepoint;
    marker.provider = std::move(category);
    marker.name = std::move(name);
    return marker;
}

TEST(TracepointPrograms, MarkersOnTheSameTracepointHaveDifferentPrograms) {
    const settings::Marker begin = on("syscalls", "sys_enter_fsync"),
                           end = on("syscalls", "sys_exit_fsync");
    const settings::Marker other = on("ext4", "sys_exit_fsync");
    settings::Marker function;
    function.kind = settings::MarkerKind::Function;
    function.name = "sys_exit_fsync";
    EXPECT_THAT(tracepoint_programs_of({&end, &begin, &end, &function, &begin, &other, &end}),
                testing::ElementsAre(0, 0, 1, 0, 1, 0, 2));
}

}  // namespace
}  // namespace lagtrap::daemon
