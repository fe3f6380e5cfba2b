// The call tree of a program: what is folded, what is shown, and where the focus is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/call_tree.hpp"
#include "analysis/delay_report.hpp"
#include "analysis/frame_role.hpp"
#include "analysis/meanwhile.hpp"
#include "tests/unit/analysis/made_recording.hpp"
#include "tests/unit/analysis/trace_builder.hpp"
#include "trace/logs/control_group_words.hpp"

namespace lagtrap::analysis::call_tree_tests {
namespace {

using test::TraceBuilder;
using testing::ElementsAre;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr auto at = [](std::uint64_t time) { return static_cast<std::int64_t>(time); };

// A delay of thread 10 in which each stack takes its milliseconds on a CPU.
DelayReport report_of(const std::vector<std::pair<std::uint64_t, TraceBuilder::Stack>>& stacks) {
    TraceBuilder builder(2000 * ms, 1);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    std::uint64_t from = 10 * ms;
    for (const auto& [length, stack] : stacks) {
        builder.samples(from, from + length * ms, 0, 10, 10, stack);
        from += length * ms;
    }
    builder.run(TraceBuilder::delay(1, "work", at(10 * ms), from - 10 * ms, 1 * ms, 10, 10));
    const auto recording = builder.decode();
    EXPECT_TRUE(recording);
    return report_delay(*recording, builder.system.delays.at(0));
}

const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";
const std::string libz = "!/usr/lib/x86_64-linux-gnu/libz.so.1.2.13!";
const std::string node = "!/usr/bin/node!";
const std::string jit = "![jit]!";

TEST(CallTree, single_callers_stand_in_one_line_and_plumbing_below_it) {
    const auto report =
        report_of({{100,
                    {"_start", libc + "__libc_start_main", "main", "run", "handle_chain",
                     libc + "___pthread_mutex_lock", libc + "__lll_lock_wait"}}});
    ASSERT_EQ(report.calls.size(), 1);
    EXPECT_THAT(report.calls[0].functions, ElementsAre("main", "run", "handle_chain"));
    EXPECT_EQ(report.calls[0].place.called, "pthread_mutex_lock");
    EXPECT_EQ(report.calls[0].called_ns, 100 * ms);
}

TEST(CallTree, splits_where_the_time_does) {
    const auto report = report_of({{60, {"main", "query", "filesort", "compare"}},
                                   {38, {"main", "query", "read_rows", "fetch"}},
                                   {2, {"main", "query", "log"}}});
    ASSERT_EQ(report.calls.size(), 4);
    EXPECT_THAT(report.calls[0].functions, ElementsAre("main", "query"));
    EXPECT_THAT(report.calls[1].functions, ElementsAre("filesort", "compare"));
    EXPECT_EQ(report.calls[1].depth, 1);
    EXPECT_THAT(report.calls[2].functions, ElementsAre("read_rows", "fetch"));
    EXPECT_EQ(report.causes.causes[0].doing.focus.place.function, "compare");
}

TEST(CallTree, a_line_tells_how_long_its_longest_wait_was) {
    TraceBuilder builder(200 * ms);
    builder.thread(10, 10, "app").switched(1 * ms, 0, 0, 0, 10);
    builder.switched(21 * ms, 0, 10, 1, 0)
        .off_cpu(21 * ms, 10, 10, {"main", "nap", "k:do_nanosleep", "k:schedule"});
    builder.waking(81 * ms, 0, 0, 10, true).switched(81 * ms, 0, 0, 0, 10);
    builder.switched(82 * ms, 0, 10, 1, 0)
        .off_cpu(82 * ms, 10, 10, {"main", "join", "k:do_wait", "k:schedule"});
    builder.waking(119 * ms, 0, 0, 10, true).switched(119 * ms, 0, 0, 0, 10);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const auto report = report_delay(*recording, builder.system.delays[0]);
    ASSERT_FALSE(report.calls.empty());
    const CallLine& line = report.calls[0];
    EXPECT_THAT(line.functions, ElementsAre("main"));
    EXPECT_EQ(line.blocked_ns, 97 * ms);
    EXPECT_EQ(line.reason, "sleep");
    EXPECT_EQ(line.reason_ns, 60 * ms);
}

TEST(CallTree, time_spread_over_several_functions_names_the_parts) {
    const auto report = report_of({{50, {"main", "query", "filesort"}},
                                   {45, {"main", "query", "read_rows"}},
                                   {5, {"main", "query"}}});
    const CallFocus& focus = report.causes.causes[0].doing.focus;
    EXPECT_EQ(focus.place.function, "query");
    ASSERT_EQ(focus.parts.size(), 2);
    EXPECT_EQ(focus.parts[0].place.function, "filesort");
    EXPECT_EQ(cause_sentences(report.causes).at(0),
              "Computed for 100 ms (100 %) in query (50 % in filesort, 45 % in read_rows).");
}

TEST(CallTree, libraries_that_do_the_work_are_named) {
    const auto report =
        report_of({{100,
                    {"main", "Py_RunMain", "_PyEval_EvalFrameDefault", "zlib_compress",
                     libz + "deflate", "?:/usr/lib/x86_64-linux-gnu/libz.so.1.2.13"}}});
    ASSERT_EQ(report.calls.size(), 1);
    EXPECT_THAT(report.calls[0].functions, ElementsAre("main", "zlib_compress", "deflate"));
    EXPECT_EQ(report.calls[0].nameless_ns, 100 * ms);
    EXPECT_EQ(cause_sentences(report.causes).at(0),
              "Computed for 100 ms (100 %) in deflate (libz), called by zlib_compress.");
}

TEST(CallTree, a_script_stands_for_itself_and_its_runtime_is_plumbing) {
    const auto report =
        report_of({{100,
                    {node + "main", node + "node::Start(int, char**)", node + "Builtins_JSEntry",
                     jit + "JS:*handle /srv/app.js:10:5", node + "Builtins_Something",
                     jit + "JS:*render /srv/app.js:20:5", node + "Builtins_JsonParse"}}});
    ASSERT_EQ(report.calls.size(), 1);
    EXPECT_THAT(report.calls[0].functions,
                ElementsAre("JS:*handle /srv/app.js:10:5", "JS:*render /srv/app.js:20:5"));
    EXPECT_EQ(report.calls[0].place.called, "Builtins_JsonParse");
}

TEST(CallTree, an_interpreter_without_a_script_is_better_than_nothing) {
    const auto report = report_of({{100, {"Py_RunMain", "_PyEval_EvalFrameDefault"}}});
    ASSERT_EQ(report.calls.size(), 1);
    EXPECT_THAT(report.calls[0].functions, ElementsAre("_PyEval_EvalFrameDefault"));
}

TEST(CallTree, recursion_is_folded) {
    const auto report = report_of({{50, {"main", "walk", "visit", "walk", "visit", "leaf"}},
                                   {50, {"main", "walk", "visit", "leaf"}}});
    ASSERT_EQ(report.calls.size(), 1);
    EXPECT_THAT(report.calls[0].functions, ElementsAre("main", "walk", "visit", "leaf"));
}

TEST(CallTree, code_without_names_is_said_to_be_so) {
    const auto report = report_of(
        {{88, {"main", "call", "?:/usr/bin/app"}}, {12, {"?:/opt/other/lib/libvendor.so"}}});
    ASSERT_EQ(report.calls.size(), 2);
    EXPECT_EQ(report.calls[0].nameless_ns, 88 * ms);
    EXPECT_EQ(report.calls[1].place.function, "[libvendor.so]");
    EXPECT_EQ(report.calls[1].nameless_ns, 12 * ms);
}

TEST(CallTree, a_function_that_many_call_is_found_by_its_own_time) {
    std::vector<std::pair<std::uint64_t, TraceBuilder::Stack>> stacks;
    for (int i = 0; i < 20; ++i)
        stacks.push_back({5, {"main", "step_" + std::to_string(i), "hash_bytes"}});
    const auto report = report_of(stacks);
    ASSERT_FALSE(report.innermost.empty());
    EXPECT_EQ(report.innermost[0].place.function, "hash_bytes");
    EXPECT_EQ(report.innermost[0].own_ns, 100 * ms);
}

TEST(CallTree, own_time_has_the_reasons_of_own_waits) {
    test::MadeRecording made;
    CallTree tree(made.recording);
    tree.add(made.stack({"main", "work"}), {.on_cpu_ns = 30, .blocked_ns = 2});
    tree.add(made.stack({"main", "work", "pause", "k:do_nanosleep"}), {.blocked_ns = 20});
    const auto lines = tree.innermost(5);
    ASSERT_EQ(lines.size(), 2);
    EXPECT_EQ(lines[0].place.function, "work");
    EXPECT_EQ(lines[0].blocked_ns, 2);
    EXPECT_EQ(lines[0].reason_ns, 2) << "not the 20 of what it called";
    EXPECT_EQ(lines[1].reason_ns, 20);
    EXPECT_EQ(lines[1].reason, "sleep");
}

TEST(FrameRole, knows_files_by_their_names) {
    EXPECT_EQ(module_name("/usr/lib/x86_64-linux-gnu/libz.so.1.2.13"), "libz");
    EXPECT_EQ(module_name("/lib/x86_64-linux-gnu/libc-2.31.so"), "libc");
    EXPECT_EQ(module_name("/usr/lib/python3/dist-packages/zlib.cpython-311-x86_64-linux-gnu.so"),
              "zlib");
    EXPECT_EQ(module_name("/usr/bin/redis-server"), "redis-server");
    EXPECT_EQ(module_name("[jit]"), "[jit]");
    EXPECT_EQ(plain_function("__GI___clock_nanosleep@@GLIBC_2.17"), "clock_nanosleep");
    EXPECT_EQ(plain_function("___pthread_mutex_lock"), "pthread_mutex_lock");
    EXPECT_EQ(plain_function("__"), "__");
    EXPECT_TRUE(is_language_runtime("/usr/lib/jvm/java-17/lib/server/libjvm.so"));
    EXPECT_FALSE(is_language_runtime("/usr/sbin/nginx"));
}

TEST(ControlGroup, units_and_containers_are_named) {
    const std::string id(64, 'a');
    EXPECT_EQ(trace::control_group_words("/system.slice/postgresql@15-main.service"),
              "postgresql@15-main.service");
    EXPECT_EQ(trace::control_group_words(
                  "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope"),
              "app-x.scope");
    EXPECT_EQ(trace::control_group_words("/system.slice/docker-" + id + ".scope"),
              "container aaaaaaaaaaaa (docker)");
    EXPECT_EQ(trace::control_group_words("/docker/" + id), "container aaaaaaaaaaaa (docker)");
    EXPECT_EQ(trace::control_group_words("/kubepods.slice/kubepods-pod1.slice/cri-containerd-" +
                                         id + ".scope"),
              "container aaaaaaaaaaaa (containerd)");
    EXPECT_EQ(trace::group_words("/", {}).whole, "");
    EXPECT_EQ(trace::group_words("/docker/" + id, {}).brief, "container aaaaaaaaaaaa");
    trace::ContainerNames names{{id, {"web", "nginx:1.25", "", ""}}};
    EXPECT_EQ(trace::group_words("/docker/" + id, names).brief, "container web");
    EXPECT_EQ(trace::group_words("/docker/" + id, names).whole,
              "container aaaaaaaaaaaa (docker), web, image nginx:1.25");
    names[id] = {"cart", "", "cart-7d9", "shop"};
    EXPECT_EQ(trace::group_words("/docker/" + id, names).brief, "pod shop/cart-7d9");
    EXPECT_EQ(trace::group_words("/docker/" + id, names).whole,
              "container aaaaaaaaaaaa (docker), pod shop/cart-7d9, cart");
    EXPECT_EQ(trace::control_group_words("/my/own"), "/my/own");
    EXPECT_EQ(trace::control_group_words(""), "");
}

TEST(Meanwhile, tells_what_began_around_a_delay) {
    TraceBuilder builder(400 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    builder.process(20, "/usr/sbin/logrotate /etc/logrotate.conf", 1,
                    TraceBuilder::begin_ns - 200 * ms);
    builder.process(21, "/usr/bin/old", 1, TraceBuilder::begin_ns - 2000 * ms);
    builder.process(22, "/usr/bin/later", 1, TraceBuilder::begin_ns + 350 * ms);
    builder.process(23, "", 2, TraceBuilder::begin_ns + 10 * ms);
    builder.run(TraceBuilder::delay(1, "work", at(20 * ms), 100 * ms, 10 * ms, 10, 10));
    builder.run(TraceBuilder::delay(2, "sync", at(70 * ms), 100 * ms, 10 * ms, 30, 30));
    builder.run(TraceBuilder::delay(3, "sync", at(120 * ms), 100 * ms, 10 * ms, 30, 30));
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const Meanwhile meanwhile = meanwhile_of(*recording, builder.system.delays[0]);
    ASSERT_EQ(meanwhile.beginnings.size(), 2);
    EXPECT_EQ(meanwhile.beginnings[0].pid, 20);
    EXPECT_EQ(meanwhile.beginnings[0].offset_ns, -at(220 * ms));
    EXPECT_EQ(meanwhile.beginnings[0].command_line, "/usr/sbin/logrotate /etc/logrotate.conf");
    EXPECT_EQ(meanwhile.beginnings[1].delay_number, 2);
    EXPECT_EQ(meanwhile.beginnings[1].offset_ns, at(50 * ms));
}

}  // namespace
}  // namespace lagtrap::analysis::call_tree_tests
