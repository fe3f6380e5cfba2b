#include "analysis/program_path.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::program_path_test {
namespace {

using Names = std::vector<std::string>;
const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";
const std::string python = "!/usr/bin/python3.11!";

struct Path {
    Names steps;
    std::string called, kernel;
    std::optional<std::size_t> handler;
    bool nameless = false;
};

Path path_of(const Names& frames) {
    test::MadeRecording made;
    const StackId stack = made.stack(frames);
    const ProgramPath path = program_path(made.recording, stack);
    const auto label = [&](std::optional<std::uint32_t> frame) {
        return frame ? made.labels({*frame}).front() : std::string();
    };
    return {made.labels(path.steps), label(path.called), label(path.kernel), path.handler,
            path.nameless};
}

TEST(ProgramPath, HasTheProgramsFunctionsAndWhatTheLastOneCalled) {
    const Path path =
        path_of({"_start", "main", "handle", libc + "pthread_mutex_lock", libc + "__lll_lock_wait",
                 "k:do_futex", "k:futex_wait", "k:schedule"});
    EXPECT_EQ(path.steps, (Names{"main", "handle"}));
    EXPECT_EQ(path.called, "pthread_mutex_lock");
    EXPECT_EQ(path.kernel, "futex_wait");
    EXPECT_FALSE(path.handler);
    EXPECT_FALSE(path.nameless);
    EXPECT_EQ(path_of({"main", libc + "qsort", "compare"}).called, "");
}

TEST(ProgramPath, OfPlumbingTakesTheFirstWithANameOrTheFirst) {
    const std::string file = "?:/usr/lib/x86_64-linux-gnu/libc.so.6";
    EXPECT_EQ(path_of({"main", file, libc + "read"}).called, "read");
    EXPECT_EQ(path_of({"main", libc + "fread", file, libc + "read"}).called, "fread");
    EXPECT_EQ(path_of({"main", file}).called, "[libc.so.6]");
    EXPECT_EQ(path_of({"main", "read@plt", libc + "fread"}).called, "fread");
    EXPECT_EQ(path_of({"main", "read@plt"}).called, "");
}

TEST(ProgramPath, FoldsRecursionBackToTheFirstOccurrence) {
    EXPECT_EQ(path_of({"main", "parse", "item", "parse", "list", "item"}).steps,
              (Names{"main", "parse", "list", "item"}));
    // Another file's function of the same name is another function.
    EXPECT_EQ(path_of({"main", "parse", "!/opt/other.so!parse"}).steps,
              (Names{"main", "parse", "parse"}));
}

TEST(ProgramPath, FoldsUnnamedPlacesOfAKnownFile) {
    Path path = path_of({"main", "?:/opt/plugin.so", "?:/opt/more.so", libc + "read"});
    EXPECT_EQ(path.steps, (Names{"main", "[plugin.so]"}));
    EXPECT_TRUE(path.nameless);
    EXPECT_EQ(path.called, "read");
    path = path_of({"main", "?:/usr/bin/app"});
    EXPECT_EQ(path.steps, (Names{"main"}));
    EXPECT_TRUE(path.nameless);
    path = path_of({"main", "?:/opt/plugin.so", "handle"});
    EXPECT_EQ(path.steps, (Names{"main", "handle"}));
    EXPECT_FALSE(path.nameless);
}

TEST(ProgramPath, BeginsAnewInASignalHandler) {
    Path path = path_of({"main", "work", libc + "__restore_rt", "on_signal", "work"});
    EXPECT_EQ(path.steps, (Names{"main", "work", "on_signal", "work"}));
    EXPECT_EQ(path.handler, 2U);
    EXPECT_FALSE(path_of({"main", "work", libc + "__restore_rt", libc + "raise"}).handler);
    EXPECT_EQ(path_of({"main", libc + "read", libc + "__restore_rt", "on_signal"}).called, "");
}

TEST(ProgramPath, HasAnInterpreterOnlyIfNothingIsInsideIt) {
    const std::string loop = python + "_PyEval_EvalFrameDefault";
    EXPECT_EQ(path_of({"main", loop, libc + "read"}).steps,
              (Names{"main", "_PyEval_EvalFrameDefault"}));
    EXPECT_EQ(path_of({"main", loop, "native"}).steps, (Names{"main", "native"}));
    // What a script is known to call hides the runtime's own functions.
    EXPECT_EQ(path_of({python + "list_sort", "![jit]!script", python + "list_sort"}).steps,
              (Names{"script"}));
    EXPECT_EQ(path_of({python + "list_sort", python + "list_merge"}).steps,
              (Names{"list_sort", "list_merge"}));
}

TEST(ProgramPath, EndsBeforeHelpersThatWaitForTheirCallers) {
    Path path = path_of(
        {"main", "query", "WaitLatch", "WaitEventSetWait", libc + "epoll_wait", "k:ep_poll"});
    EXPECT_EQ(path.steps, (Names{"main", "query"}));
    EXPECT_EQ(path.called, "WaitLatch");
    // They compute on their own behalf.
    path = path_of({"main", "query", "WaitLatch"});
    EXPECT_EQ(path.steps, (Names{"main", "query", "WaitLatch"}));
    EXPECT_EQ(path.called, "");
    // One of them stays if there is nothing else.
    path = path_of({"WaitLatch", "WaitEventSetWait", "k:ep_poll"});
    EXPECT_EQ(path.steps, (Names{"WaitLatch"}));
    EXPECT_EQ(path.called, "WaitEventSetWait");
    EXPECT_EQ(path_of({"WaitLatch", libc + "epoll_wait", "k:ep_poll"}).called, "epoll_wait");
    EXPECT_EQ(path_of({"main", "WaitLatch", "query", "k:ep_poll"}).steps,
              (Names{"main", "WaitLatch", "query"}));
}

TEST(ProgramPath, OfPlumbingOrTheKernelOnlyIsBetterThanNothing) {
    Path path = path_of({libc + "read", libc + "__read_nocancel", "k:vfs_read"});
    EXPECT_EQ(path.steps, (Names{"read"}));
    EXPECT_EQ(path.called, "");
    path = path_of({"k:ret_from_fork", "k:kswapd", "k:shrink_node", "k:schedule"});
    EXPECT_EQ(path.steps, (Names{"shrink_node"}));
    EXPECT_TRUE(path_of({}).steps.empty());
}

}  // namespace
}  // namespace lagtrap::analysis::program_path_test
