#include "cli/objects/objects_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::cli::objects_text_test {
namespace {

using calls::ObjectNode;
using calls::ObjectRole;
using calls::ObjectsEnded;
using calls::ObjectsStarted;
using calls::ObjectState;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t us = 1'000, ms = 1'000'000, s = 1'000'000'000;
const CallsLook plain{Paint(false), 80, false, false};
const CallsLook everything{Paint(false), 80, true, false};

calls::ObjectFunction function_of(const std::string& name, ObjectRole role,
                                  std::uint32_t class_number = 0) {
    calls::ObjectFunction function;
    function.function.name = name;
    function.function.module = "/usr/lib/libdb.so.1";
    function.role = role;
    function.class_number = class_number;
    return function;
}

ObjectsStarted database() {
    ObjectsStarted started;
    started.pid = 42;
    started.process = "shop";
    started.classes = {"connection", "statement"};
    started.functions = {
        function_of("db_open", ObjectRole::Create), function_of("db_read", ObjectRole::Use),
        function_of("db_close", ObjectRole::Release), function_of("db_errmsg", ObjectRole::Message),
        function_of("malloc", ObjectRole::Create, 2)};
    started.attached_by = "uprobe_multi";
    started.plan_ns = 1500 * ms;
    started.attach_ns = 20 * ms;
    return started;
}

ObjectNode node_of(std::uint32_t function, std::uint64_t length_ns, std::uint64_t object = 5) {
    ObjectNode node;
    node.call.function = function;
    node.call.begin_ns = 1000;
    node.call.end_ns = 1000 + length_ns;
    node.call.object = object;
    node.call.state = ObjectState::Alive;
    node.call.thread = "worker";
    node.call.tid = 43;
    return node;
}

TEST(ObjectsStartedText, CountsFunctionsByRoleWithoutTheAllocator) {
    ObjectsStarted started = database();
    started.functions.push_back(function_of("db_query", ObjectRole::Use, 1));
    EXPECT_EQ(objects_started_text(started, plain),
              "Objects of shop (42)\n"
              "  connection, statement\n"
              "  functions watched: 1 that create, 2 that use, 1 that release, 1 that return\n"
              "  errors\n"
              "  by uprobe_multi\n"
              "  found in 1.50 s, attached in 20.0 ms\n\n");
    started.functions.erase(started.functions.begin() + 3);
    EXPECT_THAT(objects_started_text(started, plain),
                HasSubstr("  functions watched: 1 that create, 2 that use, 1 that release\n  by"));
}

TEST(ObjectsStartedText, TellsWhatIsNotWatched) {
    ObjectsStarted started = database();
    started.memory = "the allocator is unknown";
    started.notes = {"inlined calls are not seen"};
    started.refused = {{"too short", 1000}, {"jumps into it", 1}};
    started.beyond_limit = 2000;
    EXPECT_THAT(objects_started_text(started, plain),
                HasSubstr("\n  memory not counted: the allocator is unknown\n"
                          "  inlined calls are not seen\n"
                          "  cannot be probed: 1,001 (--all says why)\n"
                          "  over the limit: 2,000; narrow with --exclude\n"
                          "  by uprobe_multi\n"));
    EXPECT_THAT(objects_started_text(started, everything),
                HasSubstr("  cannot be probed: 1,001\n    1,000: too short\n    1: jumps into it\n"
                          "  over the limit"));
}

TEST(ObjectsStartedText, NamesSixClasses) {
    ObjectsStarted started = database();
    started.classes = {"a", "b", "c", "d", "e", "f"};
    EXPECT_THAT(objects_started_text(started, plain), HasSubstr("\n  a, b, c, d, e, f\n"));
    started.classes.insert(started.classes.end(), {"g", "h"});
    EXPECT_THAT(objects_started_text(started, plain),
                HasSubstr("\n  a, b, c, d, e, f and 2 others\n"));
}

TEST(ObjectTreeText, HasOneLinePerCall) {
    ObjectNode root = node_of(0, 5 * ms, 1'048'575);
    root.call.probes_ns = ms;
    root.call.taken_bytes = 5000;
    root.call.given_bytes = 904;
    root.call.title = "shop.db";
    ObjectNode use = node_of(1, 2 * us, 1'048'576);
    use.call.probes_ns = 3 * us;  // more than the call
    use.call.failed = true;
    use.call.result = 14;
    ObjectNode release = node_of(2, us);
    release.call.given_bytes = 96;
    release.call.state = ObjectState::Twice;
    use.below = {release};
    root.below = {use, node_of(1, us)};
    root.below[1].call.state = ObjectState::After;
    EXPECT_EQ(object_tree_text(root, database(), {plain, 0}),
              "worker (43)\n"
              "   4.00 ms   +4.00 KiB  + db_open  1048575 \"shop.db\"\n"
              "      0 ns                  db_read  0x100000  " +
                  calls::error_of(use.call) +
                  "\n"
                  "   1.00 us       -96 B      - db_close  5  released twice\n"
                  "   1.00 us                  db_read  5  used after release\n");
}

TEST(ObjectTreeText, HasAtMost200CallsUnlessAllAreWanted) {
    ObjectNode root = node_of(0, ms);
    root.below.assign(199, node_of(1, us));
    EXPECT_THAT(object_tree_text(root, database(), {plain, 0}), Not(HasSubstr("more calls")));
    root.below.push_back(node_of(2, us));
    root.below.back().below.push_back(node_of(2, us));
    const std::string cut = object_tree_text(root, database(), {plain, 0});
    EXPECT_THAT(cut, EndsWith("db_read  5\n" + std::string(24, ' ') +
                              "  and 2 more calls; --all shows them\n"));
    EXPECT_THAT(cut, Not(HasSubstr("db_close")));
    EXPECT_THAT(object_tree_text(root, database(), {everything, 0}), EndsWith("- db_close  5\n"));
}

TEST(ObjectTreeText, CutsLongNamesAndTitlesToTheScreen) {
    ObjectsStarted started = database();
    ObjectNode node = node_of(1, us);
    node.call.title = std::string(80, 't');
    std::string text = object_tree_text(node, started, {plain, 0});
    EXPECT_EQ(text.size(), std::string("worker (43)\n").size() + 81);
    EXPECT_THAT(text, EndsWith("tt...\n"));
    EXPECT_THAT(object_tree_text(node, started, {everything, 0}),
                EndsWith("  5 \"" + node.call.title + "\"\n"));
    started.functions[1].function.name = "begin" + std::string(80, 'n') + "end";
    text = object_tree_text(node, started, {plain, 0});
    EXPECT_EQ(text.size(), std::string("worker (43)\n").size() + 81);
    EXPECT_THAT(text, EndsWith("nend\n"));
}

TEST(ObjectTreeText, MarksLongCallsAndColoursWhatIsWrong) {
    const Paint paint(true);
    const CallsLook coloured{paint, 80, false, false};
    const ObjectNode node = node_of(1, 5 * ms);
    const std::string time = "   5.00 ms";
    for (const std::uint64_t marked_ns : {ms, 5 * ms})
        EXPECT_THAT(object_tree_text(node, database(), {coloured, marked_ns}),
                    HasSubstr(paint(Colour::Yellow, time)));
    for (const std::uint64_t marked_ns : {std::uint64_t{0}, 5 * ms + 1})
        EXPECT_THAT(object_tree_text(node, database(), {coloured, marked_ns}),
                    HasSubstr("\n" + time));
    const auto colour_of = [&](std::uint32_t function, Colour colour) {
        const ObjectNode one = node_of(function, ms);
        const char* const sign = function == 0 ? "+ " : function == 2 ? "- " : "  ";
        EXPECT_THAT(object_tree_text(one, database(), {coloured, 0}),
                    HasSubstr(paint(colour, sign + database().functions[function].function.name) +
                              paint(Colour::Dim, "  5")));
    };
    colour_of(0, Colour::Green);
    colour_of(1, Colour::Blue);
    colour_of(2, Colour::Yellow);
    ObjectNode wrong = node;
    wrong.call.state = ObjectState::After;
    EXPECT_THAT(
        object_tree_text(wrong, database(), {coloured, 0}),
        HasSubstr(paint(Colour::Red, "  db_read") + paint(Colour::Red, "  5  used after release")));
}

TEST(ObjectsDetachedText, TellsWhatIsNoLongerSeen) {
    EXPECT_EQ(objects_detached_text({{0, 0}, {1, 250'000}, {4, 1}}, database(), plain),
              "  detached: db_open, with others of its class; connection is no longer followed\n"
              "  detached: db_read, 250,000 calls per second\n"
              "  detached: malloc, 1 calls per second; memory is no longer counted\n");
}

class ObjectsSummaryText : public testing::Test {
  protected:
    ObjectsSummaryText() {
        ended_.reason = "the time is over";
        ended_.length_ns = 2 * s;
        ended_.detach_ns = 30 * ms;
        ended_.sent = 1;
        ended_.classes.resize(2);
    }
    [[nodiscard]] std::string text(std::size_t top = 20, const CallsLook& look = plain) const {
        calls::ObjectsSummary summary;
        const auto add = [&](auto member, auto value) {
            calls::ObjectsReply reply;
            reply.*member = std::move(value);
            EXPECT_TRUE(summary.add(std::move(reply)));
        };
        add(&calls::ObjectsReply::started, database());
        if (!calls_.empty()) add(&calls::ObjectsReply::calls, calls_);
        add(&calls::ObjectsReply::failures, failures_);
        add(&calls::ObjectsReply::ended, ended_);
        return objects_ended_text(summary, top, {look, 0});
    }
    static calls::ObjectFailure failure(std::uint64_t count, const std::string& error,
                                        std::uint64_t object = 0, const std::string& title = "") {
        calls::ObjectFailure made;
        made.count = count;
        made.error = error;
        made.object = object;
        made.title = title;
        return made;
    }
    std::vector<calls::ObjectCall> calls_;
    std::vector<calls::ObjectFailure> failures_;
    ObjectsEnded ended_;
};

TEST_F(ObjectsSummaryText, OfATraceWithoutCallsSaysSo) {
    EXPECT_EQ(text(),
              "No call failed.\n\n"
              "    created   released      alive   failures  objects\n\n"
              "No call of these functions ended; the process may have been waiting all the time.\n"
              "\nEnded after 2.00 s: the time is over; probes removed in 30.0 ms.\n"
              "1 call reported.\n");
    ended_.sent = 2000;
    ended_.not_sent = 3000;
    ended_.too_deep = 1;
    EXPECT_THAT(text(), EndsWith("\n2,000 calls reported; 3,000 more were only counted.\n1 call "
                                 "nested too deep: at most 64 open calls per thread are "
                                 "tracked.\n"));
    ended_.not_sent = 1;
    EXPECT_THAT(text(), HasSubstr("; 1 more were only counted"));
}

TEST_F(ObjectsSummaryText, BeginsWithFailures) {
    failures_ = {failure(2000, "ENOENT", 7, "shop.db"), failure(1, "result 14", 0x7f0000001000),
                 failure(1, "no result", 0, "x"), failure(1, "last")};
    EXPECT_THAT(text(), StartsWith("Failures\n"
                                   "    2,000  db_open (libdb.so.1)\n"
                                   "             ENOENT\n"
                                   "             the first object: 7 \"shop.db\"\n"
                                   "        1  db_open (libdb.so.1)\n"
                                   "             result 14\n"
                                   "             object: 0x7f0000001000\n"
                                   "        1  db_open (libdb.so.1)\n"
                                   "             no result\n"
                                   "             object: 0 \"x\"\n"
                                   "        1  db_open (libdb.so.1)\n"
                                   "             last\n\n"));
    EXPECT_THAT(text(4), Not(HasSubstr("others")));
    EXPECT_THAT(text(2), HasSubstr("object: 0x7f0000001000\n  and 2 others; --top shows more\n\n"));
}

TEST_F(ObjectsSummaryText, CountsObjectsByClass) {
    ended_.classes[1] = {1000, 10, 990, 3, 1, 2, 1, 4, 5};
    EXPECT_THAT(
        text(),
        HasSubstr("\n    created   released      alive   failures  objects\n"
                  "      1,000        990         10          3  statement\n"
                  "  statement: 1 object released twice\n"
                  "  statement: 2 calls on released objects, or on objects recreated by "
                  "unwatched\n  code\n"
                  "  statement: 4 objects gone without a seen release\n"
                  "  statement: 5 objects not followed: the limit is 65,536 at once\n"
                  "  statement: 1 call on older objects, or on objects created by unwatched "
                  "code\n\n"));
    for (auto member : {&calls::ClassCounts::created, &calls::ClassCounts::released,
                        &calls::ClassCounts::failures, &calls::ClassCounts::unknown}) {
        ended_.classes[0] = {};
        ended_.classes[0].*member = 1;
        EXPECT_THAT(text(), HasSubstr("  connection\n"));
    }
}

TEST_F(ObjectsSummaryText, SortsFunctionsByTime) {
    ended_.totals = {{1, 4, 1000, 2 * ms}, {0, 2, 0, 6 * ms}, {2, 0, 0, us}};
    EXPECT_THAT(text(), HasSubstr("\n       time       mean       calls   failures  function\n"
                                  "    6.00 ms    3.00 ms           2          0  db_open\n"
                                  "    2.00 ms     500 us           4      1,000  db_read\n"
                                  "    1.00 us    1.00 us           0          0  db_close\n"
                                  "\nEnded"));
    EXPECT_THAT(text(2), HasSubstr("db_read\n  and 1 other; --top shows more\n"));
    EXPECT_THAT(text(3), Not(HasSubstr("others")));
}

TEST_F(ObjectsSummaryText, HasTheLongestCalls) {
    EXPECT_THAT(text(), Not(HasSubstr("Longest")));
    calls_ = {node_of(1, ms).call};
    EXPECT_THAT(text(), HasSubstr("\n\nLongest calls, with their callees\nworker (43)\n"
                                  "   1.00 ms                db_read  5\n\nEnded"));
}

TEST_F(ObjectsSummaryText, TellsWhereLiveObjectsWereCreated) {
    EXPECT_THAT(text(), Not(HasSubstr("Oldest")));
    calls::OldObject old;
    old.object = 7;
    old.age_ns = 90 * s;
    old.uses = 1;
    old.bytes = -96;
    old.stack = 1;
    ended_.stacks.resize(1);
    ended_.stacks[0].frames = {"load (shop)", "", "main (shop)"};
    ended_.stacks[0].alive = 1;
    ended_.oldest = {old, old};
    ended_.oldest[0].title = "shop.db";
    ended_.oldest[1].uses = 2000;
    // Objects that were created alike share the place.
    const std::string indent(24, ' '), title = "Oldest live objects, and where they were created\n";
    EXPECT_THAT(text(), HasSubstr("\n\n" + title +
                                  "     90.0 s      -96 B  connection 7 \"shop.db\", 1 call\n"
                                  "     90.0 s      -96 B  connection 7, 2,000 calls\n" +
                                  indent + "by load (shop)\n" + indent + "   ?\n" + indent +
                                  "   main (shop)\n\nEnded"));
    const auto is_shown_twice = [&] {
        const std::string all = text();
        const auto first = all.find("by load (shop)");
        return first != std::string::npos && all.find("by load (shop)", first + 1) != all.npos;
    };
    EXPECT_FALSE(is_shown_twice());
    ended_.oldest[1].class_number = 1;
    EXPECT_TRUE(is_shown_twice());
    ended_.oldest[1] = old;
    ended_.oldest[1].caller = "other";
    EXPECT_TRUE(is_shown_twice());
    ended_.oldest[1] = old;
    ended_.oldest[1].shares_stack = true;
    EXPECT_TRUE(is_shown_twice());
    ended_.oldest[1] = old;
    ended_.oldest[1].stack = 0;
    ended_.oldest[1].caller = "load";
    EXPECT_THAT(text(), HasSubstr("\n" + indent + "by load\n\nEnded"));
    ended_.stacks_lost = 1;
    EXPECT_THAT(text(), HasSubstr("\n  1 object was created without a stack: at most 4,096 "
                                  "different stacks are kept.\n"));
    ended_.stacks_lost = 2;
    EXPECT_THAT(text(), HasSubstr("\n  2 objects were created without a stack:"));
}

TEST_F(ObjectsSummaryText, CutsStacksOfCreation) {
    calls::OldObject old;
    old.stack = 1;
    ended_.oldest = {old};
    ended_.stacks.resize(1);
    ended_.stacks[0].frames.assign(12, "f");
    ended_.stacks[0].alive = 1;
    const std::string deep(27, ' ');
    EXPECT_THAT(text(), Not(HasSubstr("--all")));
    EXPECT_THAT(text(), Not(HasSubstr("alive\n" + deep)));
    EXPECT_THAT(text(), Not(HasSubstr("caller unknown")));
    EXPECT_THAT(text(), Not(HasSubstr("from here")));
    EXPECT_THAT(text(), Not(HasSubstr("another object")));
    ended_.stacks[0].frames.push_back("thirteenth");
    ended_.stacks[0].cut = true;
    ended_.stacks[0].alive = 2000;
    ended_.oldest[0].shares_stack = true;
    EXPECT_THAT(text(), HasSubstr(deep + "f\n" + deep + "and 1 caller more; --all shows them\n" +
                                  deep + "caller unknown\n" + deep +
                                  "(of another object created by the same call)\n" + deep +
                                  "2,000 objects from here are alive\n"));
    EXPECT_THAT(text(), Not(HasSubstr("thirteenth")));
    EXPECT_THAT(text(20, everything), HasSubstr(deep + "thirteenth\n" + deep + "caller unknown"));
    ended_.stacks[0].alive = 2;
    EXPECT_THAT(text(), HasSubstr("2 objects from here are alive\n"));
}

}  // namespace
}  // namespace lagtrap::cli::objects_text_test
