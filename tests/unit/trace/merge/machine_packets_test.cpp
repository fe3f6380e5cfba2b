#include "trace/merge/machine_packets.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "tests/unit/trace/packets_fixture.hpp"

namespace lagtrap::trace::machine_packets_test {
namespace {

using testing::ElementsAre;

TEST_F(Packets, OfTheMachineOpenTheTrace) {
    Session session = synthetic_session();
    session.id = "0f8fad5b-d9cb-069f-0165-70867728950e";
    session.lagtrap_version = "1.2\n";
    session.clocks = {11, 22, 33};
    session.cpu_count = 7;
    write_machine(session, writer_, 99);
    utsname names{};
    ASSERT_EQ(::uname(&names), 0);
    const std::string kernel = std::string("sysname='") + names.sysname + "' version='" +
                               names.version + "' release='" + names.release + "' machine='" +
                               names.machine + "'";
    EXPECT_THAT(packets(),
                ElementsAre("1 99 flags=1 clock_snapshot{clocks{id=6 timestamp=22} primary=6}",
                            "1 99 attributes{attribute{key='lagtrap.clock.boottime_ns' long=22} "
                            "attribute{key='lagtrap.clock.monotonic_ns' long=11} "
                            "attribute{key='lagtrap.clock.realtime_ns' long=33}}",
                            "1 99 uuid{msb=" + std::to_string(0x0f8fad5bd9cb069fULL) +
                                " lsb=" + std::to_string(0x016570867728950eULL) + "}",
                            "1 99 system_info{utsname{" + kernel +
                                "} version='lagtrap 1.2\\\\x0a' page_size=" +
                                std::to_string(::sysconf(_SC_PAGESIZE)) + " cpus=7}"));
}

}  // namespace
}  // namespace lagtrap::trace::machine_packets_test
