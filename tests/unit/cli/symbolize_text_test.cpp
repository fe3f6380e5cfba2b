#include "cli/reports/symbolize_text.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

namespace lagtrap::cli::symbolize_text_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

SymbolizedModule module(const std::string& path, std::size_t found, const std::string& found_in,
                        const std::string& problem = {}) {
    return {path, "abcd", 12, found, found_in, problem};
}

SymbolizeSummary summary() {
    SymbolizeSummary made;
    made.before = {200, 20, 8};
    made.after = {400, 200, 100};
    made.bundle.path = "/spool/x.lagtrap.tar.zst";
    made.bundle.digest = "d1";
    made.bundle.size_bytes = 99;
    return made;
}

std::string rows_of(const std::vector<SymbolizedModule>& modules) {
    SymbolizeSummary made = summary();
    made.modules = modules;
    const std::string text = symbolize_text(made);
    return text.substr(0, text.find("named frames"));
}

TEST(SymbolizeText, ComparesFramesBeforeAndAfter) {
    EXPECT_EQ(symbolize_text(summary()),
              "No names or source lines are missing.\n"
              "named frames 5 % -> 50 %, with source lines 2 % -> 25 %\n"
              "wrote /spool/x.lagtrap.tar.zst\n");
}

TEST(SymbolizeText, ShowsWhatWasFoundFirst) {
    EXPECT_EQ(rows_of({module("/bin/gone", 0, ""), module("/bin/sh\x1b", 7, "/debug/sh")}),
              "       7/12  /bin/sh\\x1b\n             by /debug/sh\n"
              "       0/12  /bin/gone\n             no file with build id abcd\n");
    EXPECT_EQ(rows_of({module("/bin/sh", 0, "/debug/sh", "it is damaged")}),
              "       0/12  /bin/sh\n             by /debug/sh; it is damaged\n");
}

TEST(SymbolizeText, CountsFilesWithoutDebugInformation) {
    EXPECT_EQ(rows_of({module("/bin/a", 0, "/bin/a")}),
              "No debug information for 1 file on this machine.\n");
    EXPECT_EQ(rows_of({module("/bin/a", 0, "/bin/a"), module("/bin/b", 0, "/bin/b")}),
              "No debug information for 2 files on this machine.\n");
}

TEST(SymbolizeText, ShowsTwentyMissingFiles) {
    std::vector<SymbolizedModule> modules(20, module("/bin/gone", 0, ""));
    EXPECT_THAT(rows_of(modules), Not(HasSubstr("more file")));
    modules.push_back(module("/bin/last", 0, ""));
    EXPECT_THAT(rows_of(modules), EndsWith("\n  and 1 more file not found\n"));
    EXPECT_THAT(rows_of(modules), Not(HasSubstr("/bin/last")));
    modules.push_back(module("/bin/last", 0, ""));
    EXPECT_THAT(rows_of(modules), EndsWith("\n  and 2 more files not found\n"));
}

TEST(SymbolizeText, CountsAddressesInFilesWithoutBuildId) {
    SymbolizeSummary made = summary();
    made.modules = {module("/bin/sh", 1, "/debug/sh")};
    EXPECT_THAT(symbolize_text(made), Not(HasSubstr("addresses")));
    EXPECT_THAT(symbolize_text(made), Not(HasSubstr("are missing")));
    made.places_without_build_id = 1234;
    EXPECT_THAT(symbolize_text(made),
                HasSubstr("\n1,234 addresses are in files without a build id.\nnamed"));
}

TEST(SymbolizeJson, HasEachFigure) {
    SymbolizeSummary made = summary();
    made.places_without_build_id = 3;
    made.modules = {module("/bin/sh", 7, "/debug/sh", "p")};
    EXPECT_EQ(boost::json::serialize(symbolize_json(made)),
              R"({"bundle":"/spool/x.lagtrap.tar.zst","digest":"d1","bytes":99,)"
              R"("before":{"frames":200,"frames_named":20,"frames_located":8},)"
              R"("after":{"frames":400,"frames_named":200,"frames_located":100},)"
              R"("modules":[{"path":"/bin/sh","build_id":"abcd","places":12,"found":7,)"
              R"("found_in":"/debug/sh","problem":"p"}],"places_without_build_id":3})");
}

TEST(UpdateQuality, NotesWhatIsNamedNow) {
    SymbolizeSummary made = summary();
    made.modules = {module("/bin/a", 0, ""), module("/bin/b", 1, "/debug/b"),
                    module("/bin/c", 0, "/bin/c"), module("/bin/d", 0, "")};
    trace::StackQuality quality;
    quality.user_stacks = 5;
    quality.naming.modules = 4;
    quality.naming.modules_damaged = 1;
    quality.naming.modules_left_out = quality.naming.places_left_out =
        quality.naming.lines_left_out = quality.naming.modules_gone = 9;
    update_quality(made, quality);
    EXPECT_EQ(quality.frames, 400U);
    EXPECT_EQ(quality.frames_named, 200U);
    EXPECT_EQ(quality.frames_located, 100U);
    EXPECT_EQ(quality.user_stacks, 5U);
    EXPECT_EQ(quality.naming.modules, 4U);
    EXPECT_EQ(quality.naming.modules_damaged, 1U);
    EXPECT_EQ(quality.naming.modules_gone, 2U);
    EXPECT_EQ(quality.naming.modules_left_out, 0U);
    EXPECT_EQ(quality.naming.places_left_out, 0U);
    EXPECT_EQ(quality.naming.lines_left_out, 0U);
}

}  // namespace
}  // namespace lagtrap::cli::symbolize_text_test
