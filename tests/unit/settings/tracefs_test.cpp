#include "settings/tracefs.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::settings::tracefs_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TraceFsTest : public testing::Test {
  protected:
    TraceFsTest() { fs::create_directories(folder_.path() / "events"); }
    void add(const std::string& tracepoint, const std::string& id, const std::string& format) {
        const fs::path folder = folder_.path() / "events" / tracepoint;
        fs::create_directories(folder);
        std::ofstream(folder / "id") << id;
        std::ofstream(folder / "format")
            << "name: x\nID: 7\nformat:\n"
               "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
               "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
               "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
            << format << "\nprint fmt: \"%d; field: none\", REC->a\n";
    }
    [[nodiscard]] TraceFs opened() const { return TraceFs::below(folder_.path()).value(); }
    // "name@offset+bytes", or only the name of what is not a number.
    static std::string text_of(const TracepointField& field) {
        if (!field.number) return field.name;
        return field.name + "@" + std::to_string(field.offset) + "+" + std::to_string(field.bytes);
    }
    [[nodiscard]] std::vector<std::string> fields(const std::string& format) {
        add("group/point", "7\n", format);
        std::vector<std::string> texts;
        const auto found = opened().fields("group", "point");
        for (const TracepointField& field : found.value()) texts.push_back(text_of(field));
        return texts;
    }
    static std::string field_line(const std::string& declaration, int offset, int bytes) {
        return "\tfield:" + declaration + ";\toffset:" + std::to_string(offset) +
               ";\tsize:" + std::to_string(bytes) + ";\tsigned:0;\n";
    }

    trace::TemporaryDirectory folder_;
};

TEST_F(TraceFsTest, NumbersHaveOneTwoFourOrEightBytes) {
    std::string lines;
    for (int bytes = 0; bytes <= 17; ++bytes)
        lines += field_line("int f" + std::to_string(bytes), 8 + bytes, bytes);
    EXPECT_THAT(fields(lines),
                ElementsAre("f0", "f1@9+1", "f2@10+2", "f3", "f4@12+4", "f5", "f6", "f7", "f8@16+8",
                            "f9", "f10", "f11", "f12", "f13", "f14", "f15", "f16", "f17"));
}

TEST_F(TraceFsTest, NumbersAreWithinTheFirstPage) {
    EXPECT_THAT(fields(field_line("int a", 0, 4) + field_line("int b", 4096, 4) +
                       field_line("int c", 4097, 4) + field_line("int d", -1, 4)),
                ElementsAre("a@0+4", "b@4096+4", "c", "d"));
}

TEST_F(TraceFsTest, ArraysAndStringsAreNoNumbers) {
    EXPECT_THAT(
        fields(field_line("char rwbs[8]", 8, 8) + field_line("__data_loc char[] cmd", 16, 4) +
               field_line("struct page * page", 24, 8) + field_line("char *name", 32, 8)),
        ElementsAre("rwbs[8]", "cmd", "page@24+8", "name@32+8"));
}

TEST_F(TraceFsTest, LinesWithoutAFieldAreSkipped) {
    EXPECT_THAT(fields("\tfield:int cut\n; field:int before\n" + field_line("int a", 8, 4) +
                       "\tfield:int no_size;\toffset:12;\n\tfield:int no_offset;\tsize:4;\n"),
                ElementsAre("a@8+4", "no_size", "no_offset"));
}

TEST_F(TraceFsTest, FindsOneField) {
    add("group/point", "7\n", field_line("u64 sector", 16, 8) + field_line("char text[4]", 24, 4));
    const TraceFs tracefs = opened();
    EXPECT_EQ(text_of(tracefs.field("group", "point", "sector").value()), "sector@16+8");
    EXPECT_EQ(text_of(tracefs.field("group", "point", "common_pid").value()), "common_pid@4+4");
    const auto text = tracefs.field("group", "point", "text[4]");
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(text.error().message, "field text[4] of group:point is not a number");
    const auto none = tracefs.field("group", "point", "secto");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(none.error().message, "group:point has no field secto; it has sector, text[4]");
}

TEST_F(TraceFsTest, OfAnUnknownTracepointThereAreNoFields) {
    EXPECT_EQ(opened().fields("group", "none").error().kind, ErrorKind::NotFound);
    EXPECT_EQ(opened().field("group", "none", "a").error().kind, ErrorKind::NotFound);
}

TEST_F(TraceFsTest, TracepointsHaveTheirNumber) {
    add("group/point", "2047\n", "");
    add("group/broken", "none\n", "");
    EXPECT_EQ(opened().tracepoint_id("group", "point").value(), 2047U);
    const auto broken = opened().tracepoint_id("group", "broken");
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(broken.error().message, "tracefs has no id for group:broken");
    const auto none = opened().tracepoint_id("other", "point");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(none.error().message, "the kernel has no tracepoint other:point");
}

TEST_F(TraceFsTest, ErrorsOtherThanAMissingTracepointAreKept) {
    fs::create_directories(folder_.path() / "events/group/point/id");
    const auto id = opened().tracepoint_id("group", "point");
    ASSERT_FALSE(id);
    EXPECT_NE(id.error().kind, ErrorKind::NotFound);
    EXPECT_THAT(id.error().message, testing::Not(HasSubstr("no tracepoint")));
}

TEST_F(TraceFsTest, LinksAreNotFollowed) {
    add("group/point", "7\n", "");
    const fs::path id = folder_.path() / "events/group/point/id";
    fs::rename(id, folder_.path() / "elsewhere");
    fs::create_symlink(folder_.path() / "elsewhere", id);
    EXPECT_FALSE(opened().tracepoint_id("group", "point"));
}

TEST_F(TraceFsTest, ListsFoldersInOrder) {
    for (const char* name : {"sched/b", "sched/a", "block/x", "sched/c"}) add(name, "1\n", "");
    std::ofstream(folder_.path() / "events/enable") << "0\n";
    std::ofstream(folder_.path() / "events/sched/filter") << "none\n";
    fs::create_directory_symlink("block", folder_.path() / "events/link");
    EXPECT_THAT(opened().categories(), ElementsAre("block", "sched"));
    EXPECT_THAT(opened().names("sched"), ElementsAre("a", "b", "c"));
    EXPECT_THAT(opened().names("none"), IsEmpty());
}

TEST_F(TraceFsTest, IsAFolderWithEvents) {
    const auto missing = TraceFs::below(folder_.path() / "none");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
    EXPECT_THAT(missing.error().message, HasSubstr((folder_.path() / "none").string()));
    fs::remove(folder_.path() / "events");
    EXPECT_EQ(TraceFs::below(folder_.path()).error().kind, ErrorKind::NotFound);
    std::ofstream(folder_.path() / "file") << "x";
    EXPECT_FALSE(TraceFs::below(folder_.path() / "file"));
}

// A machine's own: as root it opens, mounted or not; other users are denied or have a mounted one.
TEST(OwnTraceFs, OpensOrSaysWhyNot) {
    const auto own = TraceFs::open();
    if (!own) {
        EXPECT_TRUE(own.error().kind == ErrorKind::Denied || own.error().kind == ErrorKind::System);
        EXPECT_THAT(own.error().message, HasSubstr("tracefs"));
        return;
    }
    EXPECT_THAT(own->categories(), testing::Contains("sched"));
    EXPECT_TRUE(own->tracepoint_id("sched", "sched_switch"));
}

}  // namespace
}  // namespace lagtrap::settings::tracefs_test
