#include "settings/probe_check.hpp"

#include <gmock/gmock.h>

#include "tests/unit/settings/marker_sources.hpp"

namespace lagtrap::settings::probe_check_test {
namespace {

using namespace testing_sources;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> problems(const MarkerSource& source) {
    Diagnostics diagnostics;
    CheckedFiles files(diagnostics);
    check_probe(source, files, diagnostics);
    return problems_in(diagnostics);
}

MarkerSource probe(const std::string& name) { return source_of(MarkerKind::Usdt, name); }

ArgumentRef argument(std::uint32_t index) { return {index, {}, {}}; }

TEST(ProbeCheckTest, ProbesThatAreThereAreGood) {
    EXPECT_THAT(problems(probe("shop:sold")), IsEmpty());
    EXPECT_THAT(problems(source_of(MarkerKind::Library, "lagtrap:frame__end")), IsEmpty());
}

TEST(ProbeCheckTest, MissingProbesHaveANearestName) {
    const std::string list = "lagtrap list-markers marked.so lists all)";
    EXPECT_THAT(problems(probe("shop:sald")),
                ElementsAre("1: marked.so has no probe shop:sald; expected one of its USDT probes "
                            "(did you mean shop:sold? (" +
                            list + ")"));
    EXPECT_THAT(problems(probe("sop:sold")), ElementsAre(HasSubstr("did you mean shop:sold?")));
    EXPECT_THAT(
        problems(probe("mysql:query__start")),
        ElementsAre("1: marked.so has no probe mysql:query__start; expected one of its USDT "
                    "probes (" +
                    list));
    EXPECT_THAT(problems(source_of(MarkerKind::Library, "lagtrap:frames__begin")),
                ElementsAre("1: marked.so has no marker lagtrap:frames__begin; expected a file "
                            "with lagtrap.h markers for this event (did you mean "
                            "lagtrap:frame__begin? (" +
                            list + ")"));
}

TEST(ProbeCheckTest, ProbesAreInTheCode) {
    EXPECT_THAT(problems(probe("shop:lost")),
                ElementsAre("1: probe shop:lost of marked.so: a probe address is outside the "
                            "file's segments; expected a probe inside the file's code"));
}

TEST(ProbeCheckTest, EveryPlaceHasTheArgument) {
    MarkerSource sold = probe("shop:sold");
    sold.marker.key = argument(1);
    EXPECT_THAT(problems(sold), ElementsAre(HasSubstr("3: arg1 of shop:sold")));
    sold.marker.key = argument(2);  // one of two places has three arguments
    EXPECT_THAT(problems(sold),
                ElementsAre("3: key is \"arg2\", but shop:sold has 2 arguments; expected arg0 to "
                            "arg1",
                            HasSubstr("3: arg2 of shop:sold")));
    sold.marker.key = argument(0);
    EXPECT_THAT(problems(sold), IsEmpty());
}

TEST(ProbeCheckTest, EachKindOfArgumentIsNamed) {
    MarkerSource one = probe("shop:one");
    one.marker.key = argument(1);
    one.begin_time = argument(2);
    one.trace_id = argument(3);
    EXPECT_THAT(problems(one),
                ElementsAre("3: key is \"arg1\", but shop:one has 1 argument; expected arg0",
                            "4: begin-time is \"arg2\", but shop:one has 1 argument; expected arg0",
                            "5: trace-id is \"arg3\", but shop:one has 1 argument; expected arg0"));
    one = probe("lagtrap:frame__begin");  // as USDT, which has no arguments
    one.trace_id = argument(0);
    EXPECT_THAT(problems(one),
                ElementsAre("5: trace-id is \"arg0\", but lagtrap:frame__begin has no arguments; "
                            "expected no trace-id"));
}

TEST(ProbeCheckTest, ArgumentsCanBeRead) {
    const std::string refused =
        " arg1 of shop:sold \"8@%xmm1\" is a floating-point number: it cannot be read; expected an "
        "argument in a register, in memory at a register, or a constant";
    MarkerSource sold = probe("shop:sold");
    sold.marker.key = argument(1);
    sold.begin_time = argument(1);
    sold.trace_id = argument(1);
    EXPECT_THAT(problems(sold), ElementsAre("3:" + refused, "4:" + refused, "5:" + refused));
}

TEST(ProbeCheckTest, MarkersOfTheHeaderHaveTheKey) {
    MarkerSource keyed = source_of(MarkerKind::Library, "lagtrap:request__begin");
    keyed.marker.key = argument(0);
    keyed.begin_time = argument(1);
    EXPECT_THAT(problems(keyed), IsEmpty());
    keyed.marker.name = "frame__begin";
    EXPECT_THAT(problems(keyed),
                ElementsAre("3: lagtrap:frame__begin in marked.so has no key; expected a key at "
                            "every marker of the event, as with LAGTRAP_BEGIN_KEY"));
    keyed.marker.key.reset();  // the header's begin time may be missing
    EXPECT_THAT(problems(keyed), IsEmpty());
    keyed.marker.key = argument(0);
    keyed.marker.name = "late__begin";
    EXPECT_THAT(problems(keyed), IsEmpty());
}

TEST(ProbeCheckTest, FilesWithoutProbesSaySo) {
    const std::string program = "/bin/true";
    EXPECT_THAT(problems(source_of(MarkerKind::Usdt, "a:b", program)),
                ElementsAre("1: /bin/true has no probe a:b; expected a file with USDT probes (it "
                            "has no USDT probes)"));
    EXPECT_THAT(problems(source_of(MarkerKind::Library, "lagtrap:a__begin", program)),
                ElementsAre("1: /bin/true has no marker lagtrap:a__begin; expected a file with "
                            "lagtrap.h markers for this event (it has no USDT probes)"));
}

TEST(ProbeCheckTest, FilesThatAreNoProgramsAreRefused) {
    EXPECT_THAT(problems(source_of(MarkerKind::Usdt, "a:b", "/etc/passwd")),
                ElementsAre("2: /etc/passwd: is not a program or library (ELF); expected a program "
                            "or library (64-bit ELF)"));
}

}  // namespace
}  // namespace lagtrap::settings::probe_check_test
