#include "analysis/call_focus.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::call_focus_test {
namespace {

using Names = std::vector<std::string>;
const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";
const std::string zlib = "!/usr/lib/libz.so.1!";

struct Focus {
    test::MadeRecording made;
    CallTree tree{made.recording};

    Focus(std::initializer_list<std::pair<Names, std::uint64_t>> times) {
        for (const auto& [frames, on_cpu_ns] : times) add(made.stack(frames), on_cpu_ns);
    }
    void add(StackId stack, std::uint64_t on_cpu_ns) {
        StackTimes::Times time;
        time.on_cpu_ns = on_cpu_ns;
        tree.add(stack, time);
    }
    CallFocus find(const Names& callers = {}) {
        std::vector<FunctionKey> keys;
        for (const std::string& caller : callers) keys.push_back(made.key(caller));
        return find_focus(tree, keys);
    }
};

Names parts_of(const CallFocus& focus) {
    Names names;
    for (const CallLine& part : focus.parts)
        names.push_back(part.place.function + " " + std::to_string(part.total_ns()));
    return names;
}

TEST(CallFocus, IsTheInnermostFunctionWithMostOfTheTime) {
    CallFocus focus = Focus{{{"main", "handle", "parse"}, 60}, {{"main", "other"}, 40}}.find();
    EXPECT_EQ(focus.place.function, "parse");
    EXPECT_EQ(focus.direct_caller, "handle");
    EXPECT_EQ(focus.direct_caller_ns, 60U);
    EXPECT_EQ(focus.caller, "");
    EXPECT_EQ(focus.caller_module, "");
    EXPECT_EQ(focus.time_ns, 60U);
    EXPECT_TRUE(focus.parts.empty());
    EXPECT_FALSE(focus.library);
    EXPECT_TRUE(focus.has_place());
    focus = Focus{{{"main", "handle", "parse"}, 59}, {{"main", "other"}, 41}}.find();
    EXPECT_EQ(focus.place.function, "main");
    EXPECT_EQ(focus.direct_caller, "");
    EXPECT_EQ(focus.time_ns, 100U);
    EXPECT_EQ(parts_of(focus), (Names{"handle 59", "other 41"}));
}

TEST(CallFocus, KnowsTheTimeOfItsCallerOnAllPaths) {
    Focus times{{{"main", "keys", "next"}, 40},
                {{"main", "keys"}, 10},
                {{"loop", "keys", "next"}, 30},
                {{"loop", "keys"}, 15},
                {{"other", "next"}, 5}};
    const CallFocus focus = times.find();
    EXPECT_EQ(focus.place.function, "next");
    EXPECT_EQ(focus.direct_caller, "keys");
    EXPECT_EQ(focus.direct_caller_ns, 95U);
    EXPECT_EQ(times.find({"keys"}).direct_caller_ns, 0U);
}

TEST(CallFocus, HasPartsIfLessThanHalfOfTheTimeIsItsOwn) {
    EXPECT_TRUE(Focus({{{"main", "f"}, 50}, {{"main", "f", "g"}, 50}}).find().parts.empty());
    const CallFocus focus = Focus{{{"main", "f"}, 49}, {{"main", "f", "g"}, 51}}.find();
    EXPECT_EQ(focus.place.function, "f");
    EXPECT_EQ(parts_of(focus), (Names{"g 51"}));
}

TEST(CallFocus, HasAtMostTwoPartsOfASixthOrMore) {
    const auto parts = [](std::uint64_t b, std::uint64_t c) {
        return parts_of(Focus{
            {{"main", "c"}, c},
            {{"main", "a"}, 59},
            {{"main", "b"}, b},
            {{"main", "d"},
             41 - b - c}}.find());
    };
    EXPECT_EQ(parts(16, 16), (Names{"a 59"}));
    EXPECT_EQ(parts(17, 16), (Names{"a 59", "b 17"}));
    EXPECT_EQ(parts(18, 20), (Names{"a 59", "c 20"}));
}

TEST(CallFocus, OfACallerOnlyIsSpreadOverTheFunctionsWithMostOwnTime) {
    Focus times{{{"main", "parse"}, 59}, {{"main", "other"}, 41}};
    const CallFocus focus = times.find({"main"});
    EXPECT_FALSE(focus.has_place());
    EXPECT_EQ(focus.time_ns, 0U);
    EXPECT_EQ(parts_of(focus), (Names{"parse 59", "other 41"}));
    // In its own code, a caller is an answer.
    Focus own{{{"main"}, 60}, {{"main", "other"}, 40}};
    EXPECT_EQ(own.find({"main"}).place.function, "main");
}

TEST(CallFocus, MayBeAFunctionThatManyCall) {
    CallFocus focus = Focus{{{"main", "a", "f"}, 50}, {{"main", "b", "f"}, 50}}.find();
    EXPECT_EQ(focus.place.function, "f");
    EXPECT_EQ(focus.time_ns, 100U);
    EXPECT_EQ(focus.direct_caller, "");
    focus = Focus{{{"main", "a", "f"}, 30}, {{"main", "b", "f"}, 29}, {{"main", "c"}, 41}}.find();
    EXPECT_EQ(focus.place.function, "main");
    focus = Focus{{{"main", "a", "f"}, 31}, {{"main", "b", "f"}, 29}, {{"main", "c"}, 40}}.find();
    EXPECT_EQ(focus.place.function, "f");
    Focus callers{{{"main", "a", "f"}, 50}, {{"main", "b", "f"}, 50}};
    EXPECT_NE(callers.find({"main", "f"}).place.function, "f");
}

TEST(CallFocus, MayBeALibraryThatHasNearlyAllOfTheTime) {
    const auto focus_with = [](std::uint64_t own) {
        return Focus{{{"main", "a", zlib + "inflate"}, 50},
                     {{"main", "b", zlib + "deflate"}, 50 - own},
                     {{"main"}, own}}
            .find();
    };
    const CallFocus focus = focus_with(5);
    EXPECT_TRUE(focus.library);
    EXPECT_EQ(focus.place.module, "/usr/lib/libz.so.1");
    EXPECT_EQ(focus.place.function, "");
    EXPECT_EQ(focus.caller_module, "/usr/bin/app");
    EXPECT_EQ(focus.caller, "");
    EXPECT_EQ(focus.time_ns, 95U);
    EXPECT_EQ(parts_of(focus), (Names{"inflate 50", "deflate 45"}));
    EXPECT_FALSE(focus_with(6).library);
    EXPECT_EQ(focus_with(6).place.function, "main");
}

TEST(CallFocus, OfSeveralFunctionsThatManyCallIsTheInnermost) {
    const auto nested = [](const std::string& outer, const std::string& inner) {
        return Focus{{{"main", "a", outer, inner}, 50}, {{"main", "b", outer, inner}, 50}}
            .find()
            .place.function;
    };
    EXPECT_EQ(nested("f", "g"), "g");
    EXPECT_EQ(nested("g", "f"), "f");
}

TEST(CallFocus, IsAFunctionOfALibraryRatherThanTheLibrary) {
    const CallFocus focus = Focus{
        {{"main", "a", zlib + "deflate", zlib + "longest_match"}, 50},
        {{"main", "b", zlib + "deflate", zlib + "longest_match"},
         50}}.find();
    EXPECT_FALSE(focus.library);
    EXPECT_EQ(focus.place.function, "longest_match");
    EXPECT_EQ(focus.direct_caller, "deflate");
}

TEST(CallFocus, IsALibraryIfItIsBelowTheInnermostFunction) {
    const CallFocus focus = Focus{
        {{"main", "a", "f", zlib + "inflate"}, 50},
        {{"main", "b", "f", zlib + "deflate"},
         50}}.find();
    EXPECT_TRUE(focus.library);
    EXPECT_EQ(focus.place.module, "/usr/lib/libz.so.1");
    EXPECT_EQ(focus.time_ns, 100U);
}

TEST(CallFocus, IsALibraryBelowACallerWithMostOfTheTime) {
    Focus times{{{"main", "a", zlib + "inflate"}, 45},
                {{"main", "b", zlib + "deflate"}, 15},
                {{"main", "c"}, 40}};
    EXPECT_EQ(times.find().place.function, "main");
    const CallFocus focus = times.find({"main"});
    EXPECT_TRUE(focus.library);
    EXPECT_EQ(focus.place.module, "/usr/lib/libz.so.1");
    EXPECT_EQ(focus.time_ns, 60U);
}

TEST(CallFocus, CountsALibraryAndAFunctionOnceOnAPath) {
    CallFocus focus = Focus{
        {{"main", "a", zlib + "inflate", "fill", zlib + "crc32"}, 55},
        {{"main", "b", zlib + "deflate"},
         45}}.find();
    EXPECT_TRUE(focus.library);
    EXPECT_EQ(focus.time_ns, 100U);
    EXPECT_EQ(parts_of(focus), (Names{"inflate 55", "deflate 45"}));
    focus =
        Focus{{{"main", "a", "f", "x", "f"}, 30}, {{"main", "b"}, 30}, {{"main", "c"}, 40}}.find();
    EXPECT_EQ(focus.place.function, "main") << "30 of 100, not 60";
}

TEST(CallFocus, IsNeitherItsOwnLibraryNorTheRuntimeOfALanguage) {
    const CallFocus inner =
        Focus{{{zlib + "api", zlib + "a"}, 50}, {{zlib + "api", zlib + "b"}, 50}}.find();
    EXPECT_FALSE(inner.library);
    EXPECT_EQ(inner.place.function, "api");
    EXPECT_EQ(parts_of(inner), (Names{"a 50", "b 50"}));
    const std::string runtime = "!/usr/lib/libpython3.11.so.1.0!";
    const CallFocus focus =
        Focus{{{"main", "a", runtime + "f"}, 50}, {{"main", "b", runtime + "g"}, 50}}.find();
    EXPECT_FALSE(focus.library);
    EXPECT_EQ(focus.place.function, "main");
}

TEST(CallFocus, HasNoCallerInTheKernel) {
    const CallFocus focus = Focus{{{"k:worker_thread", "k:flush"}, 100}}.find();
    EXPECT_EQ(focus.place.function, "flush");
    EXPECT_EQ(focus.direct_caller, "");
}

TEST(CallFocus, NamesTheCallerInAnotherFile) {
    const CallFocus focus = Focus{{{"main", "!/opt/x.so!api", "!/opt/x.so!work"}, 100}}.find();
    EXPECT_EQ(focus.place.function, "work");
    EXPECT_EQ(focus.direct_caller, "api");
    EXPECT_EQ(focus.caller, "main");
    EXPECT_EQ(focus.caller_module, "/usr/bin/app");
}

TEST(CallFocus, OfAHeaderNamesTheCallerInASourceFile) {
    const auto caller_of = [](const std::string& source) {
        Focus focus{};
        const StackId stack = focus.made.stack({"main", "caller", "inlined"});
        auto& frames = focus.made.recording.frames;
        frames[0].source = frames[1].source = focus.made.name("/src/a.cpp");
        frames[2].source = focus.made.name(source);
        focus.add(stack, 10);
        return focus.find().caller;
    };
    EXPECT_EQ(caller_of("/src/x.hpp"), "caller");
    EXPECT_EQ(caller_of("/src/x.h"), "caller");
    EXPECT_EQ(caller_of("/usr/include/vector"), "caller");
    EXPECT_EQ(caller_of("/src/x.cpp"), "");
    EXPECT_EQ(caller_of("/src.d/x.cc"), "");
    EXPECT_EQ(caller_of(""), "");
}

TEST(CallFocus, NamesWhatItCalledForMostOfTheTime) {
    const auto called = [](std::uint64_t in_read) {
        return Focus{{{"main", "f", libc + "__read"}, in_read}, {{"main", "f"}, 100 - in_read}}
            .find()
            .place.called;
    };
    EXPECT_EQ(called(60), "read");
    EXPECT_EQ(called(59), "");
}

}  // namespace
}  // namespace lagtrap::analysis::call_focus_test
