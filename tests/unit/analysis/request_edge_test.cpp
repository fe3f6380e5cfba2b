#include "analysis/request_edge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/made_causes.hpp"

namespace lagtrap::analysis::request_edge_test {
namespace {

using namespace test::made_causes;
using testing::IsEmpty;
using testing::SizeIs;

const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
const ThreadName third = name_of(own_pid, 13, "app", "third", "app.service");

// The delayed request is run 1 and begins at 100 ms.
RequestPart in_run(std::uint64_t id, const std::string& event, std::uint64_t begin_ns = 50 * ms) {
    RequestPart part;
    part.request.event = event;
    part.request.run_id = id;
    part.request.key = 17;
    part.request.begin_ns = begin_ns;
    part.request.end_ns = 400 * ms;
    part.time_ns = 90 * ms;
    return part;
}

DelayCauses delayed(const ThreadDoing& doing, const std::vector<CauseLink>& chain) {
    DelayCause cause;
    cause.doing = doing;
    cause.chain = chain;
    DelayCauses causes = causes_of({cause});
    causes.request = in_run(1, "checkout", 100 * ms).request;
    return causes;
}

ThreadDoing waits_for_holder(WaitKind wait = WaitKind::Lock) {
    return ended_by(wait_for(wait), holder);
}

CauseLink link_in(const ThreadName& who, ThreadDoing doing, std::uint64_t id) {
    CauseLink link = link_of(who, std::move(doing));
    link.request = in_run(id, "report");
    return link;
}

TEST(RequestEdge, TheHolderOfALockInAnotherRequestIsTheCulprit) {
    const auto edges =
        edges_of(delayed(waits_for_holder(), {link_in(holder, work_in("dumps"), 2)}));
    ASSERT_THAT(edges, SizeIs(1));
    EXPECT_EQ(edges[0].culprit, in_run(2, "report").request);
    EXPECT_EQ(edges[0].who.tid, holder.tid);
    EXPECT_EQ(edges[0].how, HeldBy::Lock);
    EXPECT_EQ(edges[0].lost_ns, 90 * ms);
    EXPECT_EQ(edges[0].place, "dumps");
}

TEST(RequestEdge, TheKindOfLockIsTold) {
    const auto how = [](WaitKind wait) {
        const auto edges =
            edges_of(delayed(waits_for_holder(wait), {link_in(holder, work_in("dumps"), 2)}));
        return edges.empty() ? "" : std::string(to_text(edges[0].how));
    };
    EXPECT_EQ(how(WaitKind::ReadWriteLock), "lock");
    EXPECT_EQ(how(WaitKind::InterpreterLock), "interpreter-lock");
    EXPECT_EQ(how(WaitKind::DatabaseLock), "database-lock");
    EXPECT_EQ(how(WaitKind::RowLock), "database-lock");
    EXPECT_EQ(how(WaitKind::FileLock), "file-lock");
    EXPECT_EQ(how(WaitKind::KernelLock), "kernel-lock");
    EXPECT_EQ(how(WaitKind::MemoryMap), "kernel-lock");
    EXPECT_EQ(how(WaitKind::Signal), "busy-thread");
    EXPECT_EQ(how(WaitKind::Child), "");
}

TEST(RequestEdge, AChainLeadsToItsLastHolder) {
    const ThreadDoing waits_too = ended_by(wait_for(WaitKind::Lock), third);
    CauseLink last = link_in(third, work_in("dumps"), 3);
    last.whole_ns = 70 * ms;
    const auto edges = edges_of(delayed(waits_for_holder(), {link_in(holder, waits_too, 2), last}));
    ASSERT_THAT(edges, SizeIs(1));
    EXPECT_EQ(edges[0].culprit.run_id, 3U);
    EXPECT_EQ(edges[0].lost_ns, 70 * ms);
}

TEST(RequestEdge, AHolderOutsideAnyRequestMakesNoEdge) {
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {link_of(holder, work_in("flush"))})),
                IsEmpty());
    const ThreadDoing waits_too = ended_by(wait_for(WaitKind::Lock), third);
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {link_in(holder, waits_too, 2),
                                                      link_of(third, work_in("flush"))})),
                IsEmpty());
}

TEST(RequestEdge, AHolderThatAsksAnotherThreadIsTheCulprit) {
    const ThreadDoing asks = ended_by(wait_for(WaitKind::Network, "query"), third);
    CauseLink child = link_in(third, work_in("sort"), 3);
    child.request->request.begin_ns = 200 * ms;
    for (const CauseLink& asked : {link_of(third, work_in("sort")), child}) {
        const auto edges = edges_of(delayed(waits_for_holder(), {link_in(holder, asks, 2), asked}));
        ASSERT_THAT(edges, SizeIs(1));
        EXPECT_EQ(edges[0].culprit.run_id, 2U);
        EXPECT_EQ(edges[0].place, "query");
    }
}

TEST(RequestEdge, WhoWaitsForALockInTurnIsInnocent) {
    const ThreadDoing in_turn = wait_for(WaitKind::Lock);
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {link_in(holder, in_turn, 2)})), IsEmpty());
    CauseLink idle = link_in(holder, {}, 2);
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {idle})), IsEmpty());
    idle.doings.clear();
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {idle})), IsEmpty());
}

TEST(RequestEdge, AGuessedHolderMakesNoEdge) {
    CauseLink link = link_in(holder, work_in("dumps"), 2);
    link.likely = true;
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {link})), IsEmpty());
    link.likely = false;
    ThreadDoing spins = waits_for_holder();
    spins.kind = TimeKind::OnCpu;
    spins.spin = SpinKind::Yield;
    EXPECT_THAT(edges_of(delayed(spins, {link})), IsEmpty());
    link.began_after_ns = link.whole_ns;
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {link})), IsEmpty());
}

TEST(RequestEdge, ARequestDoesNotDelayItself) {
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {link_in(holder, work_in("dumps"), 2)})),
                SizeIs(1));
    CauseLink own = link_in(holder, work_in("dumps"), 1);
    own.request = in_run(1, "checkout", 100 * ms);
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {own})), IsEmpty());
    DelayCauses child = delayed(waits_for_holder(), {link_in(holder, work_in("dumps"), 2)});
    child.request.trace_id = trace_id;
    EXPECT_THAT(edges_of(child), SizeIs(1));
    child.causes[0].chain[0].request->request.trace_id = trace_id;
    EXPECT_THAT(edges_of(child), IsEmpty());
}

TEST(RequestEdge, AThreadThatWorksForTheRequestIsNoCulprit) {
    CauseLink link = link_in(holder, work_in("job"), 2);
    EXPECT_THAT(edges_of(delayed(waits_for_holder(WaitKind::Signal), {link})), SizeIs(1));
    link.request->request.begin_ns = 100 * ms;
    EXPECT_THAT(edges_of(delayed(waits_for_holder(WaitKind::Signal), {link})), IsEmpty());
    EXPECT_THAT(edges_of(delayed(waits_for_holder(), {link})), SizeIs(1));
}

TEST(RequestEdge, AThreadWithTheCpuForMostOfTheTimeIsTheCulprit) {
    ThreadDoing doing = doing_of(TimeKind::Runnable, "");
    CpuHolder on_cpu;
    on_cpu.pid = own_pid;
    on_cpu.tid = holder.tid;
    on_cpu.threads = 1;
    on_cpu.time_ns = 60 * ms;
    on_cpu.function = "dumps";
    on_cpu.request = in_run(2, "report");
    const auto edges = [&] {
        doing.cpu.holders = {on_cpu};
        return edges_of(delayed(doing, {}));
    };
    ASSERT_THAT(edges(), SizeIs(1));
    EXPECT_EQ(to_text(edges()[0].how), "cpu");
    EXPECT_EQ(edges()[0].lost_ns, 60 * ms);
    EXPECT_EQ(edges()[0].place, "dumps");
    on_cpu.time_ns = 59 * ms;
    EXPECT_THAT(edges(), IsEmpty());
    on_cpu.time_ns = 60 * ms;
    on_cpu.threads = 2;
    EXPECT_THAT(edges(), IsEmpty());
    on_cpu.threads = 1;
    doing.cpu.elsewhere_ns = 50 * ms;
    EXPECT_THAT(edges(), SizeIs(1));
    doing.cpu.elsewhere_ns = 51 * ms;
    EXPECT_THAT(edges(), IsEmpty());
    doing.cpu.elsewhere_ns = 0;
    doing.throttled = true;
    EXPECT_THAT(edges(), IsEmpty());
    doing.throttled = false;
    on_cpu.request.reset();
    EXPECT_THAT(edges(), IsEmpty());
}

TEST(RequestEdge, EdgesToOneRequestAreAddedUpAndTheLongestComesFirst) {
    DelayCauses causes = delayed(waits_for_holder(), {link_in(holder, work_in("dumps"), 2)});
    causes.causes[0].chain[0].request->time_ns = 40 * ms;
    causes.causes.push_back(causes.causes[0]);
    DelayCause other_cause = causes.causes[0];
    other_cause.chain = {link_in(third, work_in("sort"), 3)};
    causes.causes.push_back(other_cause);
    const auto edges = edges_of(causes);
    ASSERT_THAT(edges, SizeIs(2));
    EXPECT_EQ(edges[0].culprit.run_id, 3U);
    EXPECT_EQ(edges[1].lost_ns, 80 * ms);
    causes.request.run_id = 0;
    EXPECT_THAT(edges_of(causes), IsEmpty());
}

TEST(RequestEdge, ABusyThreadIsTheCulpritOfWaitsForItsWork) {
    const auto made = [](WaitKind wait) {
        return edges_of(delayed(waits_for_holder(wait), {link_in(holder, work_in("dumps"), 2)}))
            .size();
    };
    for (const WaitKind wait :
         {WaitKind::Signal, WaitKind::Semaphore, WaitKind::PythonLock, WaitKind::Futex,
          WaitKind::Pipe, WaitKind::LocalSocket, WaitKind::Network, WaitKind::Events})
        EXPECT_EQ(made(wait), 1U) << words_of_wait(wait, "");
    for (const WaitKind wait : {WaitKind::ThreadEnd, WaitKind::Once, WaitKind::UnixSignal,
                                WaitKind::Client, WaitKind::Sleep, WaitKind::Disk})
        EXPECT_EQ(made(wait), 0U) << words_of_wait(wait, "");
}

TEST(RequestEdge, AHolderThatWaitsForALockOrAFutexInTurnIsInnocent) {
    const auto made = [](ThreadDoing did) {
        return edges_of(delayed(waits_for_holder(), {link_in(holder, std::move(did), 2)})).size();
    };
    EXPECT_EQ(made(wait_for(WaitKind::Futex)), 0U);
    EXPECT_EQ(made(wait_for(WaitKind::FileLock)), 0U);
    EXPECT_EQ(made(doing_of(TimeKind::Unknown)), 0U);
    EXPECT_EQ(made(wait_for(WaitKind::Network)), 1U);
    ThreadDoing spins = work_in("take");
    spins.spin = SpinKind::Memory;
    EXPECT_EQ(made(spins), 0U);
}

TEST(RequestEdge, OnlyEqualEdgesAreAddedUp) {
    const auto edges_with = [](const CauseLink& second, WaitKind wait = WaitKind::Lock) {
        CauseLink first = link_in(holder, work_in(""), 2);
        DelayCauses causes = delayed(waits_for_holder(), {first});
        DelayCause more;
        more.doing = waits_for_holder(wait);
        more.chain = {second};
        causes.causes.push_back(more);
        return edges_of(causes);
    };
    const auto same = edges_with(link_in(holder, work_in("dumps"), 2));
    ASSERT_THAT(same, SizeIs(1));
    EXPECT_EQ(same[0].place, "dumps") << "the first had none";
    EXPECT_THAT(edges_with(link_in(third, work_in("dumps"), 2)), SizeIs(2));
    EXPECT_THAT(edges_with(link_in(holder, work_in("dumps"), 3)), SizeIs(2));
    EXPECT_THAT(edges_with(link_in(holder, work_in("dumps"), 2), WaitKind::FileLock), SizeIs(2));
}

TEST(RequestEdge, AHolderThatWaitedForACpuIsWhereItComputed) {
    CauseLink link = link_in(holder, doing_of(TimeKind::Runnable, ""), 2);
    link.doings.push_back(work_in("dumps"));
    const auto edges = edges_of(delayed(waits_for_holder(), {link}));
    ASSERT_THAT(edges, SizeIs(1));
    EXPECT_EQ(edges[0].place, "dumps");
}

TEST(RequestEdge, OnlyCausesWorthASentenceCount) {
    DelayCauses causes = delayed(waits_for_holder(), {link_in(holder, work_in("dumps"), 2)});
    causes.causes.insert(causes.causes.begin(), DelayCause{});
    causes.causes[1].doing.time_ns = 10 * ms;
    EXPECT_THAT(edges_of(causes), SizeIs(1));
    causes.causes[1].doing.time_ns = 9 * ms;
    EXPECT_THAT(edges_of(causes), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::analysis::request_edge_test
