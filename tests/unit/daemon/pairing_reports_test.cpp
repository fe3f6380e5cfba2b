#include "daemon/pairing_reports.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::pairing_reports_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = PairingFinding::Kind;

EventStatus event(const std::string& name, std::vector<PairingFinding> findings) {
    EventStatus status;
    status.name = name;
    status.pairing = std::move(findings);
    return status;
}

TEST(PairingReports, ReportEachFindingOfAnEventOnce) {
    PairingReports reports;
    const std::vector<EventStatus> events{
        event("query", {{Kind::NoEnd, "3 begins, no end"}}),
        event("commit", {{Kind::NoEnd, "no end"}, {Kind::Crowded, "too many runs"}})};
    EXPECT_THAT(reports.take(events),
                ElementsAre("event query: 3 begins, no end; see \"lagtrap explain query\"",
                            "event commit: no end; see \"lagtrap explain commit\"",
                            "event commit: too many runs; see \"lagtrap explain commit\""));
    EXPECT_THAT(reports.take(events), IsEmpty());
    EXPECT_THAT(reports.take({event(
                    "query", {{Kind::NoEnd, "4 begins, no end"}, {Kind::NoBegin, "no begin"}})}),
                ElementsAre("event query: no begin; see \"lagtrap explain query\""));
    reports.clear();
    EXPECT_THAT(reports.take({event("query", {{Kind::NoEnd, "no end"}})}),
                ElementsAre("event query: no end; see \"lagtrap explain query\""));
}

}  // namespace
}  // namespace lagtrap::daemon::pairing_reports_test
