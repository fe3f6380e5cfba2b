#include <gtest/gtest.h>

#include "formats/encoders.hpp"
#include "tests/unit/formats/made_profile.hpp"

namespace lagtrap::formats::encode_csv_test {
namespace {

using analysis::TimeKind;
using test::made_profile;
using test::piece_of;
using test::thread_of;

const std::string header =
    "process,pid,thread,tid,begin_ns,duration_ns,weight_ns,state,reason,cpu,function,module,"
    "source,line,stack\r\n";

std::string row_of(const StackProfile& profile) {
    const std::string text = encode_csv(profile);
    EXPECT_EQ(text.substr(0, header.size()), header);
    return text.substr(header.size());
}

StackProfile calls() {
    StackProfile profile = made_profile(
        {{.function = "main", .module = "/usr/bin/app"},
         {.function = "work", .module = "/usr/lib/libz.so", .source = "/src/work.c", .line = 17}});
    profile.threads = {thread_of(10, 11, "app", "worker", {piece_of(5, 30, 2)})};
    return profile;
}

TEST(CsvRow, HasAColumnForAllThatIsKnownOfAPiece) {
    StackProfile profile = calls();
    profile.threads[0].pieces[0].weight_ns = 40;
    profile.threads[0].pieces[0].cpu = 3;
    EXPECT_EQ(row_of(profile),
              "app,10,worker,11,5,30,40,on CPU,,3,work,/usr/lib/libz.so,/src/work.c,17,main;work"
              "\r\n");
    profile.threads[0].pieces[0].stack = 1;
    EXPECT_EQ(row_of(profile), "app,10,worker,11,5,30,40,on CPU,,3,main,/usr/bin/app,,,main\r\n");
    profile.threads[0].pieces[0].stack = 0;
    EXPECT_EQ(row_of(profile), "app,10,worker,11,5,30,40,on CPU,,3,,,,,\r\n");
}

TEST(CsvRow, NamesItsStateAndReason) {
    StackProfile profile = calls();
    profile.texts = {"", "disk"};
    Piece& piece = profile.threads[0].pieces[0];
    piece.stack = 1;
    piece.cpu = 3;
    const auto state = [&](TimeKind kind, std::uint32_t reason) {
        piece.kind = kind;
        piece.reason = reason;
        const std::string row = row_of(profile);
        return row.substr(std::string("app,10,worker,11,5,30,30,").size());
    };
    const std::string rest = ",main,/usr/bin/app,,,main\r\n";
    EXPECT_EQ(state(TimeKind::OnCpu, 0), "on CPU,,3" + rest);
    EXPECT_EQ(state(TimeKind::Runnable, 0), "waits for a CPU,," + rest);
    EXPECT_EQ(state(TimeKind::Blocked, 1), "blocked,disk," + rest);
    EXPECT_EQ(state(TimeKind::Unknown, 1), "unknown,disk," + rest);
}

TEST(CsvRow, CellsThatASpreadsheetWouldComputeAreTexts) {
    StackProfile profile = calls();
    const auto cell = [&](const std::string& name) {
        profile.threads[0].process = name;
        const std::string row = row_of(profile);
        return row.substr(0, row.find(",10,worker"));
    };
    for (const char* formula : {"=1", "+1", "-1", "@1"})
        EXPECT_EQ(cell(formula), "'" + std::string(formula));
    EXPECT_EQ(cell("a=1"), "a=1");
    EXPECT_EQ(cell("a,b"), "\"a,b\"");
    EXPECT_EQ(cell("a\"b"), "\"a\"\"b\"");
    EXPECT_EQ(cell("=\"b"), "\"'=\"\"b\"");
    EXPECT_EQ(cell(""), "");
}

TEST(CsvRow, ComesForEachPieceOfEachThread) {
    StackProfile profile = calls();
    profile.threads[0].pieces = {piece_of(0, 1, 0), piece_of(1, 2, 0)};
    profile.threads[0].pieces[0].weight_ns = 0;
    profile.threads.push_back(thread_of(20, 21, "other", "reader", {piece_of(0, 3, 0)}));
    EXPECT_EQ(row_of(profile),
              "app,10,worker,11,0,1,0,on CPU,,0,,,,,\r\n"
              "app,10,worker,11,1,2,2,on CPU,,0,,,,,\r\n"
              "other,20,reader,21,0,3,3,on CPU,,0,,,,,\r\n");
}

}  // namespace
}  // namespace lagtrap::formats::encode_csv_test
