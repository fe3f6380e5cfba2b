// The first pass of a merge: what it collects from the logs, and what it says is missing.
#include "trace/merge/capture_loader.hpp"

#include <gmock/gmock.h>

#include "tests/unit/trace/merge_fixture.hpp"

namespace lagtrap::trace::capture_loader_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CaptureLoaderTest : public Merge {
  protected:
    // The contents of a capture after its first pass.
    CaptureContents& load(const Session& session = synthetic_session()) {
        contents_.emplace(capture_.path(), options_, session);
        const Status loaded = CaptureLoader(*contents_).load();
        EXPECT_TRUE(loaded.ok()) << (loaded ? "" : loaded.error().message);
        return *contents_;
    }
    std::optional<CaptureContents> contents_;
};

TEST_F(CaptureLoaderTest, ThreadsOfTheBeginAreThoseThatExistedThen) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "before", 0, 0, 0, -1);
        capture.thread(101, 101, "at once", 0, 0, 0, 0);
        capture.thread(102, 102, "later", 0, 0, 0, 0.001);
        capture.flush();
    }
    std::vector<std::uint32_t> tids;
    for (const lagtrap_thread& thread : load().listed.first()) tids.push_back(thread.tid);
    EXPECT_THAT(tids, ElementsAre(100U, 101U));
}

TEST_F(CaptureLoaderTest, OpenRunsEndWithTheirThread) {
    lagtrap_run open = SyntheticCapture::make_run(1, 100, 101, 20, 150);
    open.flags = LAGTRAP_RUN_OPEN;
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.exit(60, 100, 101);
        capture.run(open);
        capture.flush();
    }
    CaptureContents& contents = load();
    const auto run = contents.sorter.peek();
    ASSERT_TRUE(run.ok() && *run != nullptr);
    EXPECT_EQ((*run)->end_ns, at_ms(60));
}

TEST_F(CaptureLoaderTest, StacksCountEachUse) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        for (std::uint64_t id = 5; id < 9; ++id) capture.user_stack(1, id, 100, {0x1000 * id});
        capture.kernel_stack(1, 20, {0xffffffff81000010});
        capture.thread(100, 100, "sleeper", 1, 0, 5);
        capture.sample(2, 0, 100, 100, 20, 6);
        capture.sample(3, 0, 100, 100, 20, 6);
        capture.switched(4, 0, 100, 100, 1, 0, 0, 20, 7);
        capture.flush();
    }
    CaptureContents& contents = load();
    EXPECT_EQ(contents.stacks.find(5)->uses, 1U);
    EXPECT_EQ(contents.stacks.find(6)->uses, 2U);
    EXPECT_EQ(contents.stacks.find(7)->uses, 1U);
    EXPECT_EQ(contents.stacks.find(8)->uses, 0U);
    ASSERT_NE(contents.stacks.find(20), nullptr);
    EXPECT_EQ(contents.stacks.find(20)->named_count, 1U);
    EXPECT_EQ(contents.modules.at(kernel_module).build_id, std::string("\xde\xad\x01", 3));
}

TEST_F(CaptureLoaderTest, StacksBeyondTheirMemoryAreLost) {
    Session session = synthetic_session();
    session.quality.stacks_lost = 10;
    {
        SyntheticCapture capture(capture_.path(), session);
        for (std::uint64_t id = 1; id <= 50; ++id) capture.user_stack(1, id, 100, {0x1000 * id});
        capture.flush();
    }
    options_.stacks_limit_bytes = 1;
    EXPECT_EQ(load(session).file.quality.stacks_lost, 10 + 49U);
}

TEST_F(CaptureLoaderTest, CopiesOfStacksAreWalkedAsFarAsTheyGo) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.mapping(100, 0, 0x1000, 0x8000, 0, "/no/such/file", "\x55");
        capture.user_stack(1, 5, 100, {0x1010, 0x1020}, LAGTRAP_STACK_END_GAP);
        lagtrap_stack_copy copy{};
        copy.stack_id = 6;
        copy.inner_id = 5;
        copy.pid = 100;
        copy.pc = 0x1020;
        copy.sp = copy.copied_from = 0x7000'0000;
        copy.bp = ~0ULL;
        copy.end = LAGTRAP_STACK_END_GAP;
        capture.stack_copy(2, copy, {1, 2, 3, 4});
        copy.stack_id = 7;
        copy.inner_id = 0;  // its stack was lost
        capture.stack_copy(2, copy, {1, 2, 3, 4});
        capture.flush();
    }
    CaptureContents& contents = load();
    const CallStack* const stack = contents.stacks.find(6);
    ASSERT_NE(stack, nullptr);
    EXPECT_TRUE(stack->late);
    EXPECT_EQ(stack->frame_count, 2U);
    EXPECT_EQ(stack->end, LAGTRAP_STACK_END_GAP) << "as the kernel's side saw it";
    ASSERT_NE(contents.stacks.find(7), nullptr);
    EXPECT_EQ(contents.stacks.find(7)->frame_count, 1U);
    EXPECT_FALSE(contents.stacks.find(5)->late);
}

TEST_F(CaptureLoaderTest, AMergeThatOpensNoProgramsSaysSo) {
    write_busy_capture(capture_.path());
    EXPECT_THAT(load().file.quality.omitted, IsEmpty());
    options_.symbols.open_programs = false;
    EXPECT_THAT(load().file.quality.omitted,
                ElementsAre("program functions have no names: the merge that looked them up took "
                            "too long"));
    Session session = synthetic_session();
    session.quality.omitted.assign(omitted_limit, "x");
    EXPECT_EQ(load(session).file.quality.omitted.size(), omitted_limit);
    EXPECT_EQ(contents_->file.quality.omitted.back(), "x");
}

TEST_F(CaptureLoaderTest, OnlyTheRecordedBootHasItsKernel) {
    write_busy_capture(capture_.path());
    std::filesystem::create_directories(proc_.path() / "sys/kernel/random");
    ASSERT_TRUE(write_file_durably(proc_.path() / "sys/kernel/random/boot_id", "one\n"));
    Session session = synthetic_session();
    EXPECT_TRUE(load(session).options.symbols.this_boot) << "unknown";
    session.boot_id = "one";
    EXPECT_TRUE(load(session).options.symbols.this_boot);
    session.boot_id = "two";
    EXPECT_FALSE(load(session).options.symbols.this_boot);
}

TEST_F(CaptureLoaderTest, LogsBelongToTheSessionAndAreOfTheirKind) {
    write_busy_capture(capture_.path());
    const Session session = synthetic_session();
    std::filesystem::copy_file(capture_.path() / "rundown.log", capture_.path() / "kernel.log",
                               std::filesystem::copy_options::overwrite_existing);
    CaptureContents contents(capture_.path(), options_, session);
    const auto kernel = contents.open_log(LogKind::Kernel);
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(kernel.error().message,
              "kernel.log: belongs to session " + session.id + ", not to " + session.id);
    EXPECT_FALSE(contents.partial);
    std::filesystem::remove(capture_.path() / "user.log");
    const auto user = contents.open_log(LogKind::User);
    ASSERT_TRUE(user.ok());
    EXPECT_FALSE(*user);
    EXPECT_TRUE(contents.partial);
    auto stream = contents.open_stream(LogKind::User);
    ASSERT_TRUE(stream.ok());
    EXPECT_EQ(stream->peek().value(), nullptr);
    EXPECT_FALSE(CaptureLoader(contents).load().ok());
}

TEST_F(CaptureLoaderTest, ContentsBeginWithWhatTheSessionSays) {
    Session session = synthetic_session();
    session.quality.samples_lost = 8;
    const CaptureContents whole(capture_.path(), options_, session);
    EXPECT_FALSE(whole.partial);
    EXPECT_EQ(whole.offset_ns, slept_ns);
    EXPECT_EQ(whole.to_boottime(5), slept_ns + 5);
    EXPECT_EQ(whole.file.quality.samples_lost, 8U);
    session.finished = false;
    EXPECT_TRUE(CaptureContents(capture_.path(), options_, session).partial);
}

}  // namespace
}  // namespace lagtrap::trace::capture_loader_test
