#include "daemon/events/copy_table.hpp"

#include <algorithm>
#include <random>
#include <tuple>

#include <gmock/gmock.h>

namespace lagtrap::daemon::copy_table_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Clock = CopyTable::Clock;

const Status denied = make_error(ErrorKind::Denied, "no such function");
const Status timed_out = make_error(ErrorKind::Timeout, "reading it took too long");

settings::Event event_of(const std::string& path) {
    settings::Event event;
    event.begin.binary = event.end.binary = path;
    event.copies = true;
    return event;
}

class CopyTableTest : public testing::Test {
  protected:
    // Two events in /shop, one in /mill.
    explicit CopyTableTest(const CopyTable::Limits& limits = {})
        : table_({event_of("/shop"), event_of("/shop"), event_of("/mill")}, limits) {}

    // A copy of /shop that the process of this number maps.
    std::uint32_t add(std::uint32_t pid, Party party = root_party, bool may_stay = true) {
        const RealFile real{pid, 1};
        processes_.by_file[real] = {pid};
        const auto number = table_.add({real,
                                        "copy " + std::to_string(pid),
                                        {"/shop", false},
                                        "container " + std::to_string(pid),
                                        "",
                                        party,
                                        may_stay},
                                       now_);
        table_.use(processes_, now_);
        return number;
    }
    void end(std::uint32_t pid) {
        processes_.by_file.erase({pid, 1});
        table_.use(processes_, now_);
    }
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> missing() const {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> missing;
        for (const auto& one : table_.missing(now_)) missing.emplace_back(one.copy, one.event);
        return missing;
    }
    void arm(std::uint32_t copy, std::uint32_t event, const Status& armed = success()) {
        for (const auto& one : table_.missing(now_))
            if (one.copy == copy && one.event == event && table_.make_room(one))
                table_.note_armed(one, armed, now_);
    }
    [[nodiscard]] std::string problem_of(std::uint32_t event, std::size_t copy = 0) const {
        return table_.describe(event, true).copies.at(copy).problem;
    }

    CopyTable table_;
    CopyTable::Processes processes_;
    Clock::time_point now_{100h};
};

TEST_F(CopyTableTest, EachEventOfACopyWithProcessesIsMissingUntilItIsArmed) {
    const auto copy = add(10);
    EXPECT_THAT(missing(), ElementsAre(Pair(copy, 0), Pair(copy, 1)));
    arm(copy, 0);
    EXPECT_THAT(missing(), ElementsAre(Pair(copy, 1)));
    table_.note_left(0);
    EXPECT_THAT(missing(), ElementsAre(Pair(copy, 0), Pair(copy, 1)));
    end(10);
    EXPECT_THAT(missing(), IsEmpty());
}

TEST_F(CopyTableTest, ATemporaryFailureIsRetriedAfterPausesThatDouble) {
    const auto copy = add(10);
    arm(copy, 1);
    auto pause = Clock::duration(CopyTable::first_retry);
    for (unsigned failures = 1; failures <= 10; ++failures) {
        arm(copy, 0, timed_out);
        EXPECT_EQ(problem_of(0), "reading it took too long; will be retried");
        ASSERT_EQ(table_.next_change(now_), now_ + pause);
        now_ += pause - 1ns;
        EXPECT_THAT(missing(), IsEmpty());
        now_ += 1ns;
        ASSERT_THAT(missing(), ElementsAre(Pair(copy, 0)));
        EXPECT_EQ(table_.missing(now_).front().failures, failures);
        if (failures <= CopyTable::max_doublings) pause *= 2;
    }
    EXPECT_EQ(pause, CopyTable::first_retry * 128);
    arm(copy, 0);
    EXPECT_EQ(problem_of(0), "");
    EXPECT_EQ(table_.next_change(now_), std::nullopt);
}

TEST_F(CopyTableTest, WhatIsMissingNowNeedsNoOtherLook) {
    const auto copy = add(10);
    arm(copy, 0, timed_out);
    now_ += CopyTable::first_retry;
    EXPECT_FALSE(missing().empty());
    EXPECT_EQ(table_.next_change(now_), std::nullopt);
}

TEST_F(CopyTableTest, APermanentFailureIsNotRetried) {
    const auto copy = add(10);
    arm(copy, 0, denied);
    arm(copy, 1, make_error(ErrorKind::Busy, "it is being written"));
    EXPECT_EQ(problem_of(0), "no such function");
    EXPECT_EQ(problem_of(1), "it is being written; will be retried");
    EXPECT_EQ(table_.next_change(now_), now_ + CopyTable::first_retry);
    now_ += 24h;
    EXPECT_THAT(missing(), ElementsAre(Pair(copy, 1)));
}

TEST_F(CopyTableTest, ACopyLeavesSomeTimeAfterItsLastProcess) {
    const auto here = add(10), elsewhere = add(20, root_party, false);
    arm(here, 0);
    now_ += 1h;
    EXPECT_THAT(table_.take_unmapped(now_), IsEmpty());
    table_.use(processes_, now_);
    end(10);
    end(20);
    EXPECT_EQ(table_.next_change(now_), now_ + CopyTable::stays_unmapped_elsewhere);
    now_ += CopyTable::stays_unmapped_elsewhere - 1ns;
    EXPECT_THAT(table_.take_unmapped(now_), IsEmpty());
    now_ += 1ns;
    const auto first = table_.take_unmapped(now_);
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first.front().copy, elsewhere);
    EXPECT_THAT(first.front().armed, IsEmpty());
    now_ += CopyTable::stays_unmapped;
    const auto second = table_.take_unmapped(now_);
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second.front().copy, here);
    EXPECT_EQ(second.front().name, "copy 10");
    EXPECT_THAT(second.front().armed, ElementsAre(0));
    EXPECT_EQ(table_.copy(here), nullptr);
    EXPECT_EQ(table_.next_change(now_), std::nullopt);
}

TEST_F(CopyTableTest, AProcessThatReturnsInTimeKeepsItsCopy) {
    const auto copy = add(10);
    arm(copy, 0);
    end(10);
    now_ += CopyTable::stays_unmapped - 1ns;
    processes_.by_file[{10, 1}] = {11};
    table_.use(processes_, now_);
    now_ += 1h;
    EXPECT_THAT(table_.take_unmapped(now_), IsEmpty());
    EXPECT_THAT(missing(), ElementsAre(Pair(copy, 1)));
}

TEST_F(CopyTableTest, NothingIsArmedInAFileThatIsBeingDetached) {
    const auto old = add(10);
    arm(old, 0);
    end(10);
    now_ += CopyTable::stays_unmapped;
    ASSERT_EQ(table_.take_unmapped(now_).size(), 1U);
    EXPECT_FALSE(table_.is_open({10, 1}));
    const auto again = add(10);
    EXPECT_NE(again, old);
    EXPECT_TRUE(table_.is_leaving("copy 10"));
    EXPECT_THAT(missing(), IsEmpty());
    table_.note_detached("copy 10");
    EXPECT_FALSE(table_.is_leaving("copy 10"));
    EXPECT_THAT(missing(), ElementsAre(Pair(again, 0), Pair(again, 1)));
}

TEST_F(CopyTableTest, AFileThatLeavesTwiceMustBeDetachedTwice) {
    for (int times = 0; times < 2; ++times) {
        (void)add(10);
        end(10);
        now_ += CopyTable::stays_unmapped;
        ASSERT_EQ(table_.take_unmapped(now_).size(), 1U);
    }
    table_.note_detached("copy 10");
    EXPECT_TRUE(table_.is_leaving("copy 10"));
    table_.note_detached("copy 10");
    EXPECT_FALSE(table_.is_leaving("copy 10"));
}

TEST_F(CopyTableTest, AFileWatchedUnderItsNameIsNoCopy) {
    const auto copy = add(10), other = add(20);
    arm(copy, 1);
    const auto leaving = table_.use(CopyTable::MainFiles{{{"/shop", {10, 1}}}, {}});
    ASSERT_EQ(leaving.size(), 1U);
    EXPECT_EQ(leaving.front().copy, copy);
    EXPECT_THAT(leaving.front().armed, ElementsAre(1));
    EXPECT_TRUE(table_.is_open({10, 1}));
    EXPECT_NE(table_.copy(other), nullptr);
    EXPECT_FALSE(table_.is_open({30, 1}));
    table_.use(processes_, now_);
    EXPECT_TRUE(table_.has_processes({10, 1}));
    EXPECT_FALSE(table_.has_processes({20, 1}));
    end(10);
    EXPECT_FALSE(table_.has_processes({10, 1}));
}

TEST_F(CopyTableTest, AWrittenFileLosesItsMarkersAndSaysWhy) {
    const auto copy = add(10), other = add(20);
    for (const auto number : {copy, other})
        for (const std::uint32_t event : {0, 1}) arm(number, event);
    EXPECT_THAT(table_.leave_file("copy 10"), ElementsAre(Pair(0, copy), Pair(1, copy)));
    EXPECT_THAT(table_.leave_file("copy 10"), IsEmpty());
    EXPECT_EQ(problem_of(0), "/shop was opened for writing");
    EXPECT_EQ(problem_of(0, 1), "");
    now_ += 24h;
    EXPECT_THAT(missing(), IsEmpty());
}

TEST_F(CopyTableTest, ResultsForACopyThatLeftAreIgnored) {
    const auto copy = add(10);
    const auto late = table_.missing(now_).front();
    end(10);
    now_ += CopyTable::stays_unmapped;
    ASSERT_EQ(table_.take_unmapped(now_).size(), 1U);
    EXPECT_FALSE(table_.make_room(late));
    table_.note_armed(late, success(), now_);
    EXPECT_EQ(table_.copy(copy), nullptr);
}

TEST_F(CopyTableTest, DescribesFilesAndProcesses) {
    const auto copy = add(20);
    (void)add(30);
    ASSERT_THAT(table_.use(CopyTable::MainFiles{{{"/shop", {10, 1}}, {"/mill", {5, 1}}}, {}}),
                IsEmpty());
    processes_.by_file[{10, 1}] = {11, 12};
    processes_.by_file[{20, 1}] = {21};
    processes_.by_file[{5, 1}] = {6};
    processes_.units = {{11, "shop.service"}, {12, "shop.service"}, {21, "container a"}};
    table_.use(processes_, now_);
    arm(copy, 0);
    const EventCopies found = table_.describe(0, true);
    EXPECT_EQ(found.files, 2U);
    EXPECT_EQ(found.processes, 3U);
    EXPECT_THAT(found.pids, ElementsAre(11, 12, 21));
    EXPECT_EQ(found.pid, 11U);
    EXPECT_THAT(found.processes_by_unit,
                ElementsAre(Pair("container a", 1), Pair("shop.service", 2)));
    ASSERT_EQ(found.copies.size(), 2U);
    EXPECT_EQ(found.copies[0].path, "/shop");
    EXPECT_EQ(found.copies[0].where, "container 20");
    EXPECT_EQ(found.copies[0].pid, 21U);
    EXPECT_EQ(found.copies[0].processes, 1U);
    EXPECT_EQ(found.copies[0].problem, "");
    EXPECT_EQ(found.copies[1].problem, "waiting for its turn");
    const EventCopies unarmed = table_.describe(1, false);
    EXPECT_EQ(unarmed.files, 0U);
    EXPECT_EQ(unarmed.copies[1].problem, "the event is not armed");
    EXPECT_EQ(table_.describe(2, true).files, 1U);
}

TEST_F(CopyTableTest, DescribesNoMoreCopiesThanStatusShows) {
    for (std::uint32_t pid = 1; pid <= EventCopies::shown_limit + 3; ++pid) arm(add(pid), 0);
    const EventCopies found = table_.describe(0, true);
    EXPECT_EQ(found.copies.size(), EventCopies::shown_limit);
    EXPECT_EQ(found.files, EventCopies::shown_limit + 3);
    EXPECT_EQ(found.processes, EventCopies::shown_limit + 3);
}

TEST_F(CopyTableTest, ShowsANamesakeOnlyWithoutAWatchedFile) {
    processes_.namesakes = {{"/opt/bakery", {7, 1, ""}}, {"/opt/shop", {8, 3, "old.service"}}};
    table_.use(processes_, now_);
    const auto namesake = table_.describe(0, true).namesake;
    ASSERT_TRUE(namesake);
    EXPECT_EQ(namesake->path, "/opt/shop");
    EXPECT_EQ(namesake->where, "old.service");
    EXPECT_EQ(namesake->pid, 8U);
    EXPECT_EQ(namesake->processes, 3U);
    EXPECT_FALSE(table_.describe(2, true).namesake);
    arm(add(10), 0);
    EXPECT_FALSE(table_.describe(0, true).namesake);
}

TEST_F(CopyTableTest, CountsFilesLeftOutByParty) {
    table_.note_left_out(1000);
    table_.note_left_out(1000);
    table_.note_left_out(1001);
    EXPECT_THAT(table_.left_out(), ElementsAre(Pair(1000, 2), Pair(1001, 1)));
    for (Party party = 2000; party < 2000 + 2 * UserShares::counted_users; ++party)
        table_.note_left_out(party);
    EXPECT_EQ(table_.left_out().size(), UserShares::counted_users);
    table_.note_left_out(1000);
    EXPECT_EQ(table_.left_out().at(1000), 3U);
}

class SmallCopyTableTest : public CopyTableTest {
  protected:
    SmallCopyTableTest() : CopyTableTest({4, 3, 2, 8}) {}
};

TEST_F(SmallCopyTableTest, AUserHasAQuarterOfTheOpenFiles) {
    (void)add(1, 1000);
    EXPECT_TRUE(table_.check_room(1000));
    (void)add(2, 1000);
    const Status full = table_.check_room(1000);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(full.error().message, "user 1000 has reached its limit of open files");
    EXPECT_TRUE(table_.check_room(1001));
    for (std::uint32_t pid = 3; pid <= 7; ++pid) (void)add(pid);
    EXPECT_TRUE(table_.check_room(root_party));
    (void)add(8);
    EXPECT_FALSE(table_.check_room(root_party));
    EXPECT_FALSE(table_.check_room(1001));
}

TEST_F(SmallCopyTableTest, AUserHasItsShareOfAnEventsFiles) {
    for (std::uint32_t pid = 1; pid <= 3; ++pid) arm(add(pid, 1000), 0);
    EXPECT_EQ(problem_of(0, 2), "the limit of watched files is reached");
    EXPECT_EQ(table_.describe(0, true).left_out, 1U);
    arm(3, 1);  // another event
    EXPECT_EQ(problem_of(1, 2), "");
    end(1);
    now_ += CopyTable::stays_unmapped;
    ASSERT_EQ(table_.take_unmapped(now_).size(), 1U);
    arm(3, 0);
    EXPECT_EQ(table_.describe(0, true).left_out, 0U);
    EXPECT_EQ(problem_of(0, 1), "");
}

TEST_F(SmallCopyTableTest, AnEventHasItsShareOfAllFiles) {
    for (std::uint32_t pid = 1; pid <= 5; ++pid) (void)add(pid);
    for (std::uint32_t copy = 1; copy <= 4; ++copy) arm(copy, 0);
    EXPECT_EQ(problem_of(0, 2), "");
    EXPECT_EQ(problem_of(0, 3), "the limit of watched files is reached");
    arm(4, 1);
    arm(5, 1);
    EXPECT_EQ(problem_of(1, 3), "");
    EXPECT_EQ(problem_of(1, 4), "the limit of watched files is reached");
}

// Plays random processes, results and writers.
class RandomCopies : public testing::TestWithParam<unsigned> {
  protected:
    static constexpr CopyTable::Limits limits{12, 8, 3, 16};

    void step() {
        now_ += std::chrono::milliseconds(random_() % 3000);
        change_processes();
        for (const auto& leaving : table_.take_unmapped(now_)) leave(leaving);
        if (random_() % 10 == 0) switch_main_file();
        for (const auto& missing : table_.missing(now_)) attempt(missing);
        if (random_() % 8 == 0) write_to(1 + random_() % files);
        if (random_() % 20 == 0) detach_everywhere(random_() % 3);
        if (!leaving_.empty() && random_() % 2 == 0) {
            table_.note_detached(*leaving_.begin());
            leaving_.erase(leaving_.begin());
        }
    }
    void check() {
        std::map<std::uint32_t, std::size_t> of_event;
        std::map<std::pair<std::uint32_t, Party>, std::size_t> of_party;
        std::set<std::uint32_t> with_markers;
        for (const auto& [copy, event] : armed_) {
            with_markers.insert(copy);
            ++of_event[event];
            ++of_party[{event, party_of(open_.at(copy))}];
        }
        EXPECT_LE(with_markers.size(), limits.files);
        EXPECT_LE(open_.size(), limits.open);
        for (const auto& [event, count] : of_event) EXPECT_LE(count, limits.files_of_event);
        for (const auto& [key, count] : of_party)
            if (key.second != root_party) EXPECT_LE(count, limits.files_of_user);
        check_described();
    }
    // Status counts what has markers, and gives a reason for each copy without.
    void check_described() {
        for (std::uint32_t event = 0; event < 3; ++event) {
            const auto watched = std::count_if(
                armed_.begin(), armed_.end(), [&](const auto& one) { return one.second == event; });
            const EventCopies found = table_.describe(event, true);
            const std::size_t main = event < 2 && main_ != 0 ? 1 : 0;
            EXPECT_EQ(found.files, static_cast<std::size_t>(watched) + main);
            for (const CopyStatus& copy : found.copies) {
                const auto number = std::find_if(open_.begin(), open_.end(), [&](const auto& one) {
                    return "file " + std::to_string(one.second) == copy.where;
                });
                ASSERT_NE(number, open_.end());
                EXPECT_EQ(copy.problem.empty(), armed_.contains({number->first, event}));
            }
        }
    }

    [[nodiscard]] static Party party_of(std::uint64_t file) {
        return file % 3 == 0 ? root_party : static_cast<Party>(1000 + file % 2);
    }
    void change_processes() {
        const std::uint64_t file = 1 + random_() % files;
        if (random_() % 2 == 0) {
            processes_.by_file.erase({file, 1});
        } else {
            processes_.by_file[{file, 1}].insert(static_cast<std::uint32_t>(random_() % 1000));
            if (!table_.is_open({file, 1}) && table_.check_room(party_of(file))) open(file);
        }
        table_.use(processes_, now_);
    }
    void open(std::uint64_t file) {
        CopyTable::Copy copy;
        copy.real = {file, 1};
        copy.name = "copy " + std::to_string(file);
        copy.view.path = file % 4 == 0 ? "/mill" : "/shop";
        copy.where = "file " + std::to_string(file);
        copy.party = party_of(file);
        copy.may_stay = file % 5 == 0;
        const auto number = table_.add(copy, now_);
        EXPECT_TRUE(open_.emplace(number, file).second) << "a number is used again";
    }
    void leave(const CopyTable::Leaving& leaving) {
        ASSERT_EQ(open_.erase(leaving.copy), 1U) << "a copy leaves twice";
        for (std::uint32_t event = 0; event < 3; ++event)
            EXPECT_EQ(armed_.erase({leaving.copy, event}) != 0, leaving.armed.contains(event));
        leaving_.insert(leaving.name);
    }
    void switch_main_file() {
        main_ = random_() % 2 == 0 ? 0 : 1 + random_() % files;
        CopyTable::MainFiles main;
        if (main_ != 0) main.by_path["/shop"] = {main_, 1};
        for (const auto& leaving : table_.use(main)) {
            EXPECT_EQ(open_.at(leaving.copy), main_);
            leave(leaving);
        }
    }
    void attempt(const CopyTable::Missing& missing) {
        EXPECT_FALSE(armed_.contains({missing.copy, missing.event})) << "it is armed twice";
        const std::uint64_t file = open_.at(missing.copy);
        EXPECT_TRUE(processes_.by_file.contains({file, 1}));
        EXPECT_FALSE(leaving_.contains("copy " + std::to_string(file)));
        EXPECT_EQ(missing.event == 2, file % 4 == 0) << "it is not a file of the event";
        if (!table_.make_room(missing)) return;
        const bool works = random_() % 3 != 0;
        table_.note_armed(missing, works ? success() : timed_out, now_);
        if (works) armed_.emplace(missing.copy, missing.event);
    }
    void write_to(std::uint64_t file) {
        for (const auto& [event, copy] : table_.leave_file("copy " + std::to_string(file))) {
            EXPECT_EQ(open_.at(copy), file);
            EXPECT_EQ(armed_.erase({copy, event}), 1U);
        }
    }
    void detach_everywhere(std::uint32_t event) {
        table_.note_left(event);
        std::erase_if(armed_, [&](const auto& one) { return one.second == event; });
    }

    static constexpr std::uint64_t files = 40;
    std::mt19937 random_{GetParam()};
    CopyTable table_{{event_of("/shop"), event_of("/shop"), event_of("/mill")}, limits};
    CopyTable::Processes processes_;
    Clock::time_point now_{100h};
    std::map<std::uint32_t, std::uint64_t> open_;              // file by copy
    std::set<std::pair<std::uint32_t, std::uint32_t>> armed_;  // copies and events
    std::multiset<std::string> leaving_;
    std::uint64_t main_ = 0;
};

TEST_P(RandomCopies, StayWithinTheLimitsAndAreWatchedOnce) {
    for (int steps = 0; steps < 500 && !HasFailure(); ++steps) {
        step();
        check();
    }
    EXPECT_FALSE(armed_.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCopies, testing::Range(1U, 21U));

}  // namespace
}  // namespace lagtrap::daemon::copy_table_test
