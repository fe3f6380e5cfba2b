#include "analysis/place_words.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::place_words_test {
namespace {

constexpr std::uint64_t whole_ns = 1'000;

CallLine part(const std::string& function, std::uint64_t time_ns,
              const std::string& module = "/usr/bin/app") {
    CallLine line;
    line.place.function = function;
    line.place.module = module;
    line.on_cpu_ns = time_ns;
    return line;
}

ThreadDoing work() {
    ThreadDoing doing;
    doing.kind = TimeKind::OnCpu;
    doing.time_ns = whole_ns;
    return doing;
}

TEST(PlaceWords, SharesAreRoundedAndALittleIsNotNothing) {
    EXPECT_EQ(percent(0, 100), "0 %");
    EXPECT_EQ(percent(9, 1000), "<1 %");
    EXPECT_EQ(percent(10, 1000), "1 %");
    EXPECT_EQ(percent(125, 1000), "13 %");
    EXPECT_EQ(percent(5, 0), "0 %");
}

TEST(PlaceWords, ALibraryIsNamedWithItsFunctionAndAProgramIsNot) {
    CallFocus focus;
    focus.place = part("deflate", 1, "/usr/lib/libz.so.1").place;
    EXPECT_EQ(place_words(focus), "deflate (libz)");
    focus.place = part("serve", 1).place;
    EXPECT_EQ(place_words(focus), "serve");
    focus.place = part("serve", 1, "/usr/bin/libreoffice").place;
    EXPECT_EQ(place_words(focus), "serve") << "a program";
    focus.place = part("[redis-server]", 1).place;
    EXPECT_EQ(place_words(focus), "unnamed code of redis-server");
}

TEST(PlaceWords, ALibraryAsAWhole) {
    CallFocus focus;
    focus.library = true;
    focus.place.module = "/usr/lib/libLLVM-14.so.1";
    EXPECT_EQ(place_words(focus), "libLLVM-14");
    focus.caller_module = "/usr/lib/postgresql/15/lib/llvmjit.so";
    EXPECT_EQ(place_words(focus), "LLVM's JIT compiler (libLLVM-14)");
}

TEST(PlaceWords, AWaitHasWhatItCalledAndWhoCalledIt) {
    ThreadDoing doing;
    CallFocus& focus = doing.focus;
    EXPECT_EQ(place_of_wait(doing), "");
    focus.place = part("save", 1).place;
    EXPECT_EQ(place_of_wait(doing), " in save");
    focus.place.called = "fsync";
    focus.caller = "commit";
    EXPECT_EQ(place_of_wait(doing), " in save (fsync), called by commit");
    focus.caller = "[app]";
    EXPECT_EQ(place_of_wait(doing), " in save (fsync)");
    for (const WaitKind lock : {WaitKind::InterpreterLock, WaitKind::PythonLock}) {
        doing.wait = lock;
        EXPECT_EQ(place_of_wait(doing), " in save");
    }
}

TEST(PlaceWords, UnnamedCodeOfAnInterpreterIsNoPlaceOfWork) {
    ThreadDoing doing = work();
    CallFocus& focus = doing.focus;
    focus.place = part("parse", 1, "[jit]").place;
    focus.place.called = "[python3.11]";
    focus.place.called_module = "/usr/bin/python3.11";
    focus.caller = "consumer";
    focus.caller_module = "[jit]";
    EXPECT_EQ(place_of_work(doing), " in parse, called by consumer");
    doing.kernel = "page faults of the kernel";
    EXPECT_EQ(place_of_work(doing), " in page faults of the kernel, called by parse");
    doing.kernel.clear();
    focus.place.called = "[libcrypto.so.3]";
    focus.place.called_module = "/usr/lib/libcrypto.so.3";
    EXPECT_EQ(place_of_work(doing), " in [libcrypto.so.3], called by parse");
    focus.place.called = "sum";
    focus.place.called_module = "/usr/bin/python3.11";
    EXPECT_EQ(place_of_work(doing), " in sum, called by parse");
}

TEST(PlaceWords, WorkWithoutAPlaceIsMostlyInAFunctionThatHasHalfOfIt) {
    ThreadDoing doing = work();
    EXPECT_EQ(place_of_work(doing), " (no call stack shows where)");
    doing.focus.parts = {part("parse", 500), part("plan", 200)};
    EXPECT_EQ(place_of_work(doing), " mostly in parse (50 %)");
    doing.focus.parts[0].on_cpu_ns = 499;
    EXPECT_EQ(place_of_work(doing), " in several functions: 50 % in parse, 20 % in plan");
    doing.focus.parts = {part("parse", 167), part("plan", 90)};
    EXPECT_EQ(place_of_work(doing), " in several functions: 17 % in parse, 9 % in plan");
    doing.focus.parts = {part("parse", 166), part("plan", 90)};
    EXPECT_EQ(place_of_work(doing), " in many functions: 17 % in parse, 9 % in plan");
}

TEST(PlaceWords, WorkInTheKernelHasTheFunctionThatCalledIt) {
    ThreadDoing doing = work();
    doing.kernel = "copy_page of the kernel";
    EXPECT_EQ(place_of_work(doing), " in copy_page of the kernel");
    doing.focus.place = part("fork_server", 1).place;
    EXPECT_EQ(place_of_work(doing), " in copy_page of the kernel, called by fork_server");
    doing.focus.place.called = "fork";
    EXPECT_EQ(place_of_work(doing), " in copy_page of the kernel, called by fork in fork_server");
}

TEST(PlaceWords, ASignalHandlerIsNamedOnce) {
    ThreadDoing doing = work();
    EXPECT_EQ(handler_clause(doing), "");
    doing.handler = "on_alarm";
    doing.focus.place = part("merge", 1).place;
    EXPECT_EQ(handler_clause(doing), ", in the signal handler on_alarm");
    doing.focus.caller = "on_alarm";
    EXPECT_EQ(handler_clause(doing), ", a signal handler");
    doing.kernel = "copy_page of the kernel";
    EXPECT_EQ(handler_clause(doing), ", in the signal handler on_alarm");
    doing.focus.place = part("on_alarm", 1).place;
    EXPECT_EQ(handler_clause(doing), ", a signal handler");
}

TEST(PlaceWords, WorkInAFunctionHasItsPartsOrItsCaller) {
    ThreadDoing doing = work();
    doing.focus.place = part("serve", 1).place;
    doing.focus.caller = "main";
    EXPECT_EQ(place_of_work(doing), " in serve, called by main");
    doing.focus.parts = {part("inflate", 300, "/usr/lib/libz.so.1")};
    EXPECT_EQ(place_of_work(doing), " in serve (30 % in inflate (libz))");
    doing.focus.caller_module = "[jit]";
    EXPECT_EQ(place_of_work(doing), " in serve (30 % in inflate (libz)), called by main");
    doing.focus.place.called = "memcpy";
    EXPECT_EQ(place_of_work(doing), " in memcpy, called by serve");
}

}  // namespace
}  // namespace lagtrap::analysis::place_words_test
