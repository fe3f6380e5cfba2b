#include "server/reports/cause_title.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::reports::cause_title_test {
namespace {

using analysis::TimeKind;
using analysis::WaitKind;

CauseParts blocked(WaitKind wait, std::string reason, CauseFrame function) {
    CauseParts parts;
    parts.state = TimeKind::Blocked;
    parts.wait = wait;
    parts.reason = std::move(reason);
    parts.function = std::move(function);
    return parts;
}

TEST(CauseTitle, names_what_computes) {
    CauseParts parts;
    parts.function = {"shop::compute(double)", "shop"};
    EXPECT_EQ(title_of(parts), "Computes in shop::compute");
    parts.caller = "shop::(anonymous namespace)::total(int)";
    EXPECT_EQ(title_of(parts), "Computes in shop::compute, called by shop::total");
    parts.function = {"deflate", "libz.so"};
    EXPECT_EQ(title_of(parts), "Computes in deflate (libz), called by shop::total");
    parts = {};
    parts.function = {"[redis-server]", "redis-server"};
    EXPECT_EQ(title_of(parts), "Computes in unnamed code of redis-server");
    parts.function = {"ksoftirqd", "[kernel]"};
    parts.of_kernel = true;
    EXPECT_EQ(title_of(parts), "Computes in ksoftirqd of the kernel");
    parts.state = TimeKind::Runnable;
    EXPECT_EQ(title_of(parts), "Waits for a CPU");
}

TEST(CauseTitle, names_the_holder_of_a_lock) {
    CauseParts parts = blocked(WaitKind::Lock, "lock (futex)", {"parse_price_list", "shop"});
    parts.awaited = true;
    EXPECT_EQ(title_of(parts), "Waits for a lock held in parse_price_list");
    parts.thread = "price-refresher";
    EXPECT_EQ(title_of(parts), "Waits for a lock held by price-refresher in parse_price_list");
    parts.last_thread = "disk-writer";
    EXPECT_EQ(title_of(parts),
              "Waits for a lock held by price-refresher, which waits for disk-writer in "
              "parse_price_list");
    // The holder's place is unknown, and the function is the waiter's.
    parts = blocked(WaitKind::Lock, "lock (futex)", {"checkout", "shop"});
    parts.thread = "price-refresher";
    EXPECT_EQ(title_of(parts), "Waits for a lock in checkout, held by price-refresher");
}

TEST(CauseTitle, names_what_another_thread_does_meanwhile) {
    CauseParts parts = blocked(WaitKind::LocalSocket, "local socket", {"merge_rows", "db"});
    parts.awaited = true;
    EXPECT_EQ(title_of(parts), "Waits on a local socket, while another thread is in merge_rows");
    parts.thread = "report";
    EXPECT_EQ(title_of(parts), "Waits on a local socket, for report in merge_rows");
}

TEST(CauseTitle, names_who_ended_a_wait_on_a_futex) {
    CauseParts parts = blocked(WaitKind::Futex, "lock (futex)", {"parse_price_list", "shop"});
    parts.thread = "prefetch";
    EXPECT_EQ(title_of(parts), "Waits in parse_price_list for prefetch");
    parts.awaited = true;
    EXPECT_EQ(title_of(parts), "Waits for prefetch in parse_price_list");
    parts.last_thread = "disk-writer";
    EXPECT_EQ(title_of(parts),
              "Waits for prefetch, which waits for disk-writer in parse_price_list");
}

TEST(CauseTitle, names_what_a_run_waits_for) {
    EXPECT_EQ(title_of(blocked(WaitKind::Disk, "disk", {"save", "app"})),
              "Waits for the disk in save");
    EXPECT_EQ(title_of(blocked(WaitKind::Sleep, "sleep", {"retry", "app"})), "Sleeps in retry");
    EXPECT_EQ(title_of(blocked(WaitKind::Stopped, "stopped by a signal", {"work", "app"})),
              "Is stopped by a signal in work");
    EXPECT_EQ(title_of(blocked(WaitKind::Futex, "lock (futex)", {"work", "app"})),
              "Waits for a lock or a signal in work");
    EXPECT_EQ(title_of(blocked(WaitKind::Other, "frozen", {"work", "app"})), "Is frozen in work");
    EXPECT_EQ(title_of(blocked(WaitKind::Other, "blocked in usb_wait", {"read_tape", "app"})),
              "Blocked in usb_wait of the kernel, called by read_tape");
}

TEST(CauseTitle, of_a_wait_in_the_kernel_names_a_program_only_if_it_called) {
    const std::string reason = "blocked in usb_wait";
    EXPECT_EQ(title_of(blocked(WaitKind::Other, reason, {})), "Blocked in usb_wait of the kernel");
    CauseParts parts = blocked(WaitKind::Other, reason, {"hub_event", "[kernel]"});
    parts.of_kernel = true;
    EXPECT_EQ(title_of(parts), "Blocked in usb_wait of the kernel");
    parts = blocked(WaitKind::Disk, "disk", {"flush", "[kernel]"});
    parts.of_kernel = true;
    EXPECT_EQ(title_of(parts), "Waits for the disk in flush of the kernel");
    parts.wait = WaitKind::Other;
    parts.reason = "unknown reason";
    EXPECT_EQ(title_of(parts), std::nullopt) << "no place of a program";
}

TEST(CauseTitle, says_each_thread_once_and_no_caller_without_a_name) {
    CauseParts parts = blocked(WaitKind::Lock, "lock (futex)", {"parse", "shop"});
    parts.awaited = true;
    parts.thread = parts.last_thread = "refresher";
    EXPECT_EQ(title_of(parts), "Waits for a lock held by refresher in parse");
    EXPECT_EQ(holder_of(parts), "refresher");
    parts.of_kernel = true;
    EXPECT_EQ(holder_of(parts), "");
    parts = blocked(WaitKind::LocalSocket, "local socket", {"ask", "db"});
    parts.thread = "report";
    EXPECT_EQ(title_of(parts), "Waits on a local socket in ask, for report");
    parts.thread.clear();
    parts.caller = "[shop]";
    EXPECT_EQ(title_of(parts), "Waits on a local socket in ask");
    parts.caller = "serve";
    EXPECT_EQ(title_of(parts), "Waits on a local socket in ask, called by serve");
    parts.state = TimeKind::OnCpu;
    parts.thread = "report";
    EXPECT_EQ(holder_of(parts), "") << "who computes waits for nobody";
}

TEST(CauseTitle, is_never_a_kernel_worker_or_an_unknown_reason) {
    CauseParts parts = blocked(WaitKind::Memory, "freeing memory", {"worker_thread", "[kernel]"});
    parts.awaited = true;
    parts.of_kernel = true;
    parts.thread = "kworker/0:1";
    parts.caller = "kthread";
    EXPECT_EQ(title_of(parts), "Waits for memory");
    parts.waiter = {"read_table", "db"};
    EXPECT_EQ(title_of(parts), "Waits for memory in read_table");
    EXPECT_EQ(title_of(blocked(WaitKind::Other, "unknown reason", {"read_table", "db"})),
              "Blocked in read_table");
    EXPECT_EQ(title_of(blocked(WaitKind::Other, "unknown reason", {})), std::nullopt);
    EXPECT_EQ(title_of(blocked(WaitKind::Other, "no work (kernel worker)", {})), std::nullopt);
}

}  // namespace
}  // namespace lagtrap::server::reports::cause_title_test
