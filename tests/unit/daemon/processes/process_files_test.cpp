#include "daemon/processes/process_files.hpp"

#include <atomic>

#include <gmock/gmock.h>

#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::process_files_test {
namespace {

using testing::HasSubstr;

class ProcessFilesTest : public testing::Test {
  protected:
    ProcessFilesTest() { files_.begin_anew(); }

    MadeUpProcess process_{{"/opt/shop", "/opt/lib.so"}};
    std::atomic<bool> given_up_{false};
    ProcessFiles files_{process_, given_up_};
};

TEST_F(ProcessFilesTest, AreNumberedAsTheyAreMapped) {
    ASSERT_TRUE(files_.read(MadeUpProcess::pid));
    ASSERT_EQ(files_.files().size(), 2U);
    EXPECT_EQ(files_.files()[0].file.path, "/opt/shop");
    EXPECT_EQ(files_.files()[1].file.path, "/opt/lib.so");
    EXPECT_EQ(files_.files()[1].mapping.path, "/opt/lib.so");
    EXPECT_EQ(files_.name_of(1), "lib.so");
    ASSERT_EQ(files_.parts().size(), 2U);
    EXPECT_EQ(files_.parts()[1].file, 1U);
    EXPECT_EQ(files_.parts()[1].mapping.start, 2 * MadeUpProcess::distance);
}

TEST_F(ProcessFilesTest, AFileThatIsMappedTwiceIsOne) {
    process_.inodes = {5, 5};
    ASSERT_TRUE(files_.read(MadeUpProcess::pid));
    ASSERT_EQ(files_.files().size(), 1U);
    ASSERT_EQ(files_.parts().size(), 2U);
    EXPECT_EQ(files_.parts()[1].file, 0U);
}

TEST_F(ProcessFilesTest, AProcessWithoutCodeIsNone) {
    const Status read = files_.read(8);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(read.error().message, "no process 8, or it is a kernel thread");
}

TEST_F(ProcessFilesTest, AreOpenedWhenTheyAreNeeded) {
    ASSERT_TRUE(files_.read(MadeUpProcess::pid));
    EXPECT_EQ(files_.opened().at(0).file, nullptr);
    const auto first = files_.program(1), again = files_.program(1);
    ASSERT_TRUE(first && again);
    EXPECT_EQ(*first, *again);
    const auto opened = files_.opened();
    ASSERT_EQ(opened.size(), 2U);
    EXPECT_EQ(opened[0].file, nullptr);
    ASSERT_NE(opened[1].file, nullptr);
    EXPECT_TRUE(opened[1].file->valid());
    EXPECT_EQ(opened[1].path, "/opt/lib.so");
}

TEST_F(ProcessFilesTest, AProblemIsRemembered) {
    process_.unreadable = {"/opt/lib.so"};
    ASSERT_TRUE(files_.read(MadeUpProcess::pid));
    EXPECT_EQ(files_.program(1).error().kind, ErrorKind::Denied);
    process_.unreadable.clear();
    EXPECT_EQ(files_.program(1).error().message, "is locked");
    EXPECT_EQ(files_.calls_of(1, {0}).error().kind, ErrorKind::Denied);
    EXPECT_TRUE(files_.find(1, "malloc").empty());
    EXPECT_TRUE(files_.program(0));
}

TEST_F(ProcessFilesTest, NothingIsReadOnceItIsNotWanted) {
    ASSERT_TRUE(files_.read(MadeUpProcess::pid));
    EXPECT_TRUE(files_.still_wanted());
    given_up_ = true;
    ASSERT_FALSE(files_.still_wanted());
    EXPECT_EQ(files_.still_wanted().error().kind, ErrorKind::Timeout);
    EXPECT_EQ(files_.still_wanted().error().message, "the trace was cancelled");
    EXPECT_EQ(files_.calls_of(0, {}).error().kind, ErrorKind::Timeout);
}

TEST_F(ProcessFilesTest, AnAddressIsAPlaceInAFile) {
    ASSERT_TRUE(files_.read(MadeUpProcess::pid));
    const lagtrap_mapping& second = files_.parts()[1].mapping;
    const CodePlace begin{1, second.file_offset}, end{1, second.file_offset + second.length - 1};
    EXPECT_EQ(files_.place_at(second.start), begin);
    EXPECT_EQ(files_.place_at(second.start + second.length - 1), end);
    EXPECT_EQ(files_.place_at(second.start + second.length), std::nullopt);
    EXPECT_EQ(files_.place_at(files_.parts()[0].mapping.start - 1), std::nullopt);
    EXPECT_EQ(files_.address_of(begin), second.start);
    EXPECT_EQ(files_.address_of(end), second.start + second.length - 1);
    EXPECT_EQ(files_.address_of({1, end.offset + 1}), std::nullopt);
    EXPECT_EQ(files_.address_of({2, begin.offset}), std::nullopt);
}

TEST_F(ProcessFilesTest, ManyEntriesAreAskedForInParts) {
    given_up_ = true;  // each part fails
    ASSERT_TRUE(files_.read(MadeUpProcess::pid));
    std::vector<std::uint64_t> entries(2 * ProcessFiles::functions_of_question + 1);
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = i;
    std::vector<std::uint64_t> asked;
    std::vector<std::size_t> sizes;
    const auto take = [&](const auto& part, const auto& found) {
        EXPECT_FALSE(found);
        sizes.push_back(part.size());
        asked.insert(asked.end(), part.begin(), part.end());
        return success();
    };
    EXPECT_TRUE(files_.for_each_part(0, entries, take));
    EXPECT_EQ(asked, entries);
    EXPECT_THAT(sizes, testing::ElementsAre(ProcessFiles::functions_of_question,
                                            ProcessFiles::functions_of_question, 1));
    const Status stopped =
        files_.for_each_part(0, entries, [&](const auto& part, const auto& found) {
            sizes.push_back(part.size());
            return Status(found.error());
        });
    EXPECT_FALSE(stopped);
    EXPECT_THAT(sizes, testing::SizeIs(4)) << "it ended at once";
}

TEST_F(ProcessFilesTest, TheTimeIsOverUnlessItBegins) {
    ProcessFiles late(process_, given_up_);
    ASSERT_FALSE(late.still_wanted());
    EXPECT_EQ(late.still_wanted().error().kind, ErrorKind::Timeout);
    EXPECT_THAT(late.still_wanted().error().message, HasSubstr("longer than 60 s"));
    late.begin_anew();
    EXPECT_TRUE(late.still_wanted());
}

#if defined(__x86_64__)
TEST_F(ProcessFilesTest, CallsAreThoseOfTheFile) {
    process_.programs["/opt/lib.so"] = MadeUpProcess::own_allocator();
    ASSERT_TRUE(files_.read(MadeUpProcess::pid));
    const auto found = files_.find(1, "malloc");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().file, 1U);
    EXPECT_TRUE(files_.find(1, "no_such_function").empty());
    const auto calls = files_.calls_of(1, {found.front().offset});
    ASSERT_TRUE(calls) << calls.error().message;
    ASSERT_EQ(calls->size(), 1U);
    EXPECT_EQ(calls->front().name, "malloc");
    EXPECT_EQ(calls->front().exits.size(), 1U);
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::process_files_test
