#include <sys/syscall.h>

#include <gmock/gmock.h>

#include "cli/add/add_offers.hpp"
#include "tests/unit/cli/scripted_daemon.hpp"

namespace lagtrap::cli::add_loops_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class WaitingThreads : public testing::Test {
  protected:
    void add_thread(std::uint32_t pid, std::uint32_t tid, const std::string& syscall) const {
        const std::string folder = std::to_string(pid) + "/task/" + std::to_string(tid);
        std::filesystem::create_directories(proc_.path() / folder);
        test::write_text(proc_.string(folder + "/syscall"), syscall);
    }
    [[nodiscard]] WaitingCalls seen(std::uint32_t processes = 1) const {
        AddTarget target{"/usr/bin/shop", "/usr/bin/shop", {}, {}};
        for (std::uint32_t i = 0; i < processes; ++i)
            target.processes.push_back({7 + i, {}, {}, {}});
        WaitingCalls calls;
        note_waiting_calls(target, calls, proc_.path());
        return calls;
    }
    test::TemporaryFolder proc_;
};

TEST_F(WaitingThreads, EveryCallThatServersWaitInIsKnown) {
    const std::pair<long, const char*> calls[] = {{SYS_epoll_wait, "epoll_wait"},
                                                  {SYS_epoll_pwait, "epoll_pwait"},
                                                  {SYS_epoll_pwait2, "epoll_pwait2"},
                                                  {SYS_poll, "poll"},
                                                  {SYS_ppoll, "ppoll"},
                                                  {SYS_select, "select"},
                                                  {SYS_pselect6, "pselect6"},
                                                  {SYS_accept, "accept"},
                                                  {SYS_accept4, "accept4"}};
    for (const auto& [number, name] : calls) {
        add_thread(7, 7, std::to_string(number) + " 0x4 0x7ffc\n");
        EXPECT_THAT(seen(), ElementsAre(Pair(name, 1U))) << name;
    }
    for (const std::string& other : {std::to_string(SYS_read), std::to_string(SYS_futex),
                                     std::string("running"), std::string("-1"), std::string()}) {
        add_thread(7, 7, other);
        EXPECT_THAT(seen(), IsEmpty()) << other;
    }
}

TEST_F(WaitingThreads, AllThreadsOfAllProcessesCount) {
    for (const std::uint32_t pid : {7U, 8U})
        for (std::uint32_t i = 0; i < 3; ++i)
            add_thread(pid, 100 * pid + i, std::to_string(i == 0 ? SYS_poll : SYS_accept));
    EXPECT_THAT(seen(1), ElementsAre(Pair("accept", 2U), Pair("poll", 1U)));
    EXPECT_THAT(seen(2), ElementsAre(Pair("accept", 4U), Pair("poll", 2U)));
}

TEST_F(WaitingThreads, OnlySomeProcessesAndThreadsAreRead) {
    for (std::uint32_t i = 0; i < 66; ++i) add_thread(7 + i, 7 + i, std::to_string(SYS_poll));
    EXPECT_THAT(seen(64), ElementsAre(Pair("poll", 64U)));
    EXPECT_THAT(seen(66), ElementsAre(Pair("poll", 64U)));
    for (std::uint32_t i = 0; i < 260; ++i) add_thread(7, 1000 + i, std::to_string(SYS_poll));
    EXPECT_THAT(seen(), ElementsAre(Pair("poll", 256U)));
}

TEST(LoopOffers, AreFromTheReturnToTheNextCall) {
    AddTarget target{"/usr/bin/shop-7", "/usr/bin/shop", {}, {}};
    const auto offers = loop_offers(target, {{"accept", 3}, {"accept4", 1}, {"poll", 2}});
    ASSERT_EQ(offers.size(), 3U);
    EXPECT_EQ(offers[2].kind, OfferKind::Loop);
    EXPECT_EQ(offers[2].title, "iterations of the event loop, by poll");
    EXPECT_EQ(
        offers[2].about,
        "From the return of poll to the thread's next poll: the handling of the events. Works "
        "without symbols; the report's stacks show where the time went.");
    EXPECT_EQ(offers[2].scope_program, "/usr/bin/shop-7");
    EXPECT_EQ(offers[2].events.at(0).element,
              "    <begin tracepoint=\"syscalls:sys_exit_poll\"/>\n"
              "    <end tracepoint=\"syscalls:sys_enter_poll\"/>\n");
    EXPECT_EQ(offers[0].events.at(0).name, "shop-request");
    EXPECT_EQ(offers[1].events.at(0).name, "shop-request");
    EXPECT_EQ(offers[2].events.at(0).name, "shop-turn");
    EXPECT_THAT(loop_offers(target, {}), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::cli::add_loops_test
