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

class ScriptPath : public testing::Test {
  protected:
    // Frames as for path_of(); those of [jit] are functions of files.
    Path path_of_script(const std::vector<std::pair<std::string, std::string>>& frames) {
        Names texts;
        for (const auto& [text, source] : frames) texts.push_back(text);
        const auto first = made_.recording.frames.size();
        const StackId stack = made_.stack(texts);
        for (std::size_t i = 0; i < frames.size(); ++i)
            made_.recording.frames[first + i].source = made_.name(frames[i].second);
        const ProgramPath path = program_path(made_.recording, stack);
        const auto label = [&](std::optional<std::uint32_t> frame) {
            return frame ? made_.labels({*frame}).front() : std::string();
        };
        return {made_.labels(path.steps), label(path.called), label(path.kernel), path.handler,
                path.nameless};
    }
    const std::string loop_ = python + "_PyEval_EvalFrameDefault",
                      call_ = python + "_PyEval_Vector", file_ = "/srv/app.py",
                      library_ = "/usr/lib/python3.11/subprocess.py";
    test::MadeRecording made_;
};

TEST_F(ScriptPath, HasNothingOfTheInterpreter) {
    const Path path = path_of_script({{call_, ""},
                                      {"![jit]!serve", file_},
                                      {loop_, ""},
                                      {call_, ""},
                                      {"![jit]!convert", file_},
                                      {loop_, ""},
                                      {python + "time_sleep", ""},
                                      {libc + "clock_nanosleep", ""}});
    EXPECT_EQ(path.steps, (Names{"serve", "convert"}));
    EXPECT_EQ(path.called, "time_sleep");
}

TEST_F(ScriptPath, EndsBeforeExtensionsThatComeWithTheRuntime) {
    const std::string json = "!/usr/lib/python3.11/lib-dynload/_json.cpython-311.so!encode";
    const std::string other = "!/srv/lib/fast.cpython-311.so!encode";
    EXPECT_EQ(path_of_script({{"![jit]!report", file_}, {loop_, ""}, {json, ""}}).called, "encode");
    EXPECT_EQ(path_of_script({{"![jit]!report", file_}, {loop_, ""}, {other, ""}}).steps,
              (Names{"report", "encode"}));
}

TEST_F(ScriptPath, EndsBeforeTheLanguagesLibrary) {
    const Path path = path_of_script({{"![jit]!convert", file_},
                                      {"![jit]!Popen.wait", library_},
                                      {"![jit]!Popen._wait", library_},
                                      {loop_, ""},
                                      {libc + "wait4", ""}});
    EXPECT_EQ(path.steps, (Names{"convert"}));
    EXPECT_EQ(path.called, "Popen.wait");
    EXPECT_EQ(
        path_of_script({{"![jit]!Popen.wait", library_}, {loop_, ""}, {libc + "wait4", ""}}).steps,
        (Names{"Popen.wait"}))
        << "if there is nothing else";
}

TEST_F(ScriptPath, FunctionsOfOneNameInTwoFilesAreTwo) {
    EXPECT_EQ(
        path_of_script({{"![jit]!run", file_}, {"![jit]!go", file_}, {"![jit]!run", "/srv/b.py"}})
            .steps,
        (Names{"run", "go", "run"}));
    EXPECT_EQ(
        path_of_script({{"![jit]!run", file_}, {"![jit]!go", file_}, {"![jit]!run", file_}}).steps,
        (Names{"run"}));
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
