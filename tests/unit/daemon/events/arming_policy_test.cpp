#include "daemon/events/arming_policy.hpp"

#include <deque>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace lagtrap::daemon::arming_policy_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

using Step = ArmingPolicy::Step;
using Next = ArmingPolicy::Next;
using Decision = ArmingPolicy::Decision;
using Steps = std::vector<Step>;
using Followups = std::vector<Next>;

const Error slow = make_error(ErrorKind::Timeout, "slow file");
const Error unreadable = make_error(ErrorKind::Denied, "unreadable file");

Steps ignore_and_detach(std::uint32_t event) {
    return {{Step::Kind::IgnoreHits, event}, {Step::Kind::Detach, event}};
}

// All events are armed.
ArmingPolicy armed_policy(std::size_t events) {
    ArmingPolicy policy(events, false);
    for (std::uint32_t event = 0; event < events; ++event) (void)policy.note_armed(event);
    (void)policy.end_first_round();
    return policy;
}

TEST(AnArmingPolicy, ArmsAllEventsOnceAndThenThoseThatNeedMoreTime) {
    ArmingPolicy policy(3, false);
    EXPECT_EQ(policy.budget(), 5s);
    EXPECT_EQ(policy.count_arming(), 3U);
    EXPECT_FALSE(policy.state(0).armed()) << "not attempted yet";
    EXPECT_THAT(policy.note_armed(0).next, IsEmpty()) << "no reports in the first round";
    EXPECT_THAT(policy.note_not_armed(1, slow).next, IsEmpty());
    EXPECT_THAT(policy.note_not_armed(2, unreadable).next, IsEmpty());
    EXPECT_TRUE(policy.state(0).armed());
    EXPECT_TRUE(policy.state(1).arming) << "it is repeated";
    EXPECT_EQ(policy.state(2).problem, "unreadable file");
    EXPECT_EQ(policy.count_arming(), 1U);
    EXPECT_THAT(policy.end_first_round().next, ElementsAre(Next{Next::Kind::Arm, 1}));
    EXPECT_EQ(policy.budget(), 20s);
    const Decision late = policy.note_not_armed(1, slow);
    EXPECT_THAT(late.steps, IsEmpty()) << "nothing is attached";
    EXPECT_THAT(late.next, ElementsAre(Next{Next::Kind::Report, 1, "slow file"}));
    EXPECT_EQ(policy.count_arming(), 0U);
    EXPECT_EQ(policy.state(1).problem, "slow file");
}

TEST(AnArmingPolicy, ReportsEventsThatAreArmedLate) {
    ArmingPolicy policy(1, false);
    (void)policy.note_not_armed(0, slow);
    (void)policy.end_first_round();
    EXPECT_THAT(policy.note_armed(0).next,
                ElementsAre(Next{Next::Kind::LookAtCopies, 0}, Next{Next::Kind::Report, 0}));
}

TEST(AnArmingPolicy, DetachesAnEventWhoseFileChangedWhileItWasRead) {
    ArmingPolicy policy(1, false);
    const Decision decision = policy.note_changed(0, unreadable);
    EXPECT_EQ(decision.steps, ignore_and_detach(0));
    EXPECT_EQ(policy.state(0).problem, "unreadable file");
}

TEST(AnArmingPolicy, RepeatsAnEventWhoseCheckTookTooLong) {
    ArmingPolicy policy(1, false);
    EXPECT_EQ(policy.note_changed(0, slow).steps, ignore_and_detach(0));
    EXPECT_THAT(policy.end_first_round().next, ElementsAre(Next{Next::Kind::Arm, 0}));
}

TEST(AnArmingPolicy, DisablesAnEventAndEnablesItAgain) {
    ArmingPolicy policy = armed_policy(1);
    EXPECT_THAT(policy.disable(0, "too expensive", false).steps,
                ElementsAre(Step{Step::Kind::IgnoreHits, 0}, Step{Step::Kind::DetachSoon, 0},
                            Step{Step::Kind::EndLimits, 0}));
    EXPECT_TRUE(policy.state(0).disabled);
    EXPECT_FALSE(policy.state(0).counted);
    EXPECT_EQ(policy.state(0).problem, "too expensive");
    EXPECT_THAT(policy.attachable(), IsEmpty());
    EXPECT_THAT(policy.resume(0).next, IsEmpty()) << "nobody enabled it";
    EXPECT_TRUE(policy.enable(0, true));
    EXPECT_FALSE(policy.enable(0, true)) << "resume() is on its way";
    EXPECT_FALSE(policy.may_arm(0)) << "its markers are still being detached";
    EXPECT_THAT(policy.resume(0).next, ElementsAre(Next{Next::Kind::Arm, 0}));
    EXPECT_TRUE(policy.may_arm(0));
    EXPECT_TRUE(policy.state(0).disabled) << "until the result is known";
    EXPECT_THAT(policy.note_armed(0).next,
                ElementsAre(Next{Next::Kind::LookAtCopies, 0}, Next{Next::Kind::Report, 0}));
    EXPECT_TRUE(policy.state(0).armed());
    EXPECT_FALSE(policy.state(0).disabled);
    EXPECT_FALSE(policy.enable(0, true)) << "it is enabled";
}

TEST(AnArmingPolicy, ReportsSuccessOnlyIfThatIsWanted) {
    ArmingPolicy policy = armed_policy(1);
    (void)policy.disable(0, "too expensive", false);
    (void)policy.enable(0, false);
    (void)policy.resume(0);
    EXPECT_THAT(policy.note_armed(0).next, ElementsAre(Next{Next::Kind::LookAtCopies, 0}));
    (void)policy.disable(0, "too expensive", false);
    (void)policy.enable(0, false);
    (void)policy.resume(0);
    EXPECT_THAT(policy.note_not_armed(0, unreadable).next,
                ElementsAre(Next{Next::Kind::Report, 0, "unreadable file"}));
    (void)policy.replace({0}, "replaced");
    EXPECT_THAT(policy.note_armed(0).next,
                ElementsAre(Next{Next::Kind::LookAtCopies, 0}, Next{Next::Kind::Report, 0}))
        << "the wish was for one attempt";
}

TEST(AnArmingPolicy, IsNoLongerDisabledIfArmingFails) {
    ArmingPolicy policy = armed_policy(1);
    (void)policy.disable(0, "too expensive", false);
    (void)policy.enable(0, true);
    (void)policy.resume(0);
    (void)policy.note_not_armed(0, unreadable);
    EXPECT_FALSE(policy.state(0).disabled);
    EXPECT_EQ(policy.state(0).problem, "unreadable file");
    EXPECT_THAT(policy.replace({0}, "replaced").next, ElementsAre(Next{Next::Kind::Arm, 0}))
        << "a new file may be readable";
}

TEST(AnArmingPolicy, NeverArmsAnEventThatWasDisabledMeanwhile) {
    ArmingPolicy policy(2, false);
    (void)policy.note_not_armed(0, slow);
    (void)policy.disable(0, "too expensive", false);
    (void)policy.disable(1, "too expensive", true);
    EXPECT_EQ(policy.count_arming(), 0U);
    EXPECT_FALSE(policy.may_arm(0));
    EXPECT_FALSE(policy.state(1).counted) << "its begins have no markers";
    EXPECT_THAT(policy.note_not_armed(0, unreadable).next, IsEmpty());
    EXPECT_EQ(policy.state(0).problem, "too expensive");
    EXPECT_TRUE(policy.enable(0, true));
    (void)policy.disable(0, "too expensive again", false);
    EXPECT_THAT(policy.resume(0).next, IsEmpty()) << "it was disabled again";
    EXPECT_TRUE(policy.enable(0, true)) << "and enabled again";
    EXPECT_THAT(policy.resume(0).next, ElementsAre(Next{Next::Kind::Arm, 0}));
    EXPECT_THAT(policy.resume(0).next, IsEmpty());
}

TEST(AnArmingPolicy, PutsMarkersOfCountedEventsBack) {
    ArmingPolicy policy = armed_policy(1);
    EXPECT_THAT(policy.disable(0, "too many runs", true).steps,
                ElementsAre(Step{Step::Kind::KeepBegins, 0}, Step{Step::Kind::EndLimits, 0}))
        << "begins are counted all the time";
    EXPECT_TRUE(policy.state(0).counted);
    EXPECT_THAT(policy.attachable(), ElementsAre(0U)) << "begins in new copies are counted, too";
    EXPECT_FALSE(policy.may_put_back(0));
    (void)policy.enable(0, true);
    EXPECT_THAT(policy.resume(0).next, ElementsAre(Next{Next::Kind::PutBack, 0}));
    ASSERT_TRUE(policy.may_put_back(0));
    const Decision back = policy.note_put_back(0, success());
    EXPECT_THAT(back.steps, ElementsAre(Step{Step::Kind::HandleHits, 0}));
    EXPECT_THAT(back.next,
                ElementsAre(Next{Next::Kind::LookAtCopies, 0}, Next{Next::Kind::Report, 0}));
    EXPECT_TRUE(policy.state(0).armed());
    EXPECT_FALSE(policy.state(0).counted);
}

TEST(AnArmingPolicy, ReadsTheFilesAgainIfMarkersCannotBePutBack) {
    ArmingPolicy policy = armed_policy(1);
    (void)policy.disable(0, "too many runs", true);
    (void)policy.enable(0, false);
    (void)policy.resume(0);
    const Decision decision = policy.note_put_back(0, unreadable);
    EXPECT_EQ(decision.steps, ignore_and_detach(0));
    EXPECT_THAT(decision.next, ElementsAre(Next{Next::Kind::Arm, 0}));
    EXPECT_EQ(policy.state(0).problem, "too many runs");
    EXPECT_THAT(policy.note_armed(0).next, ElementsAre(Next{Next::Kind::LookAtCopies, 0}))
        << "success is still not reported";
}

TEST(AnArmingPolicy, StopsCountingAnEvent) {
    ArmingPolicy policy = armed_policy(1);
    (void)policy.disable(0, "too many runs", true);
    EXPECT_THAT(policy.disable(0, "far too many runs", false).steps,
                ElementsAre(Step{Step::Kind::IgnoreHits, 0}, Step{Step::Kind::DetachSoon, 0},
                            Step{Step::Kind::EndLimits, 0}));
    EXPECT_FALSE(policy.state(0).counted);
    (void)policy.enable(0, true);
    EXPECT_THAT(policy.resume(0).next, ElementsAre(Next{Next::Kind::Arm, 0}));
}

TEST(AnArmingPolicy, PutsStagesBackIfTheEventIsArmed) {
    ArmingPolicy policy = armed_policy(1);
    EXPECT_THAT(policy.resume_stages(0).next, ElementsAre(Next{Next::Kind::PutBack, 0}));
    EXPECT_THAT(policy.note_put_back(0, success()).next, IsEmpty()) << "it was armed before";
    (void)policy.disable(0, "too many runs", true);
    EXPECT_FALSE(policy.may_put_back(0));
    EXPECT_THAT(policy.note_put_back(0, success()).next, IsEmpty());
    EXPECT_TRUE(policy.state(0).disabled);
    EXPECT_THAT(policy.resume_stages(0).next, IsEmpty()) << "they return with the event";
}

TEST(AnArmingPolicy, LeavesFilesThatAreWritten) {
    ArmingPolicy policy = armed_policy(3);
    (void)policy.disable(1, "too many runs", true);
    const Decision decision = policy.leave({0, 1}, "it is being written");
    EXPECT_THAT(decision.steps,
                ElementsAre(Step{Step::Kind::IgnoreHits, 0}, Step{Step::Kind::IgnoreHits, 1},
                            Step{Step::Kind::Detach, 0}, Step{Step::Kind::Detach, 1}))
        << "no hit of one while the other one is being detached";
    EXPECT_THAT(decision.next, IsEmpty());
    EXPECT_EQ(policy.state(0).problem, "it is being written");
    EXPECT_EQ(policy.state(1).problem, "too many runs");
    EXPECT_FALSE(policy.state(1).counted);
    EXPECT_TRUE(policy.state(2).armed());
    const Decision replaced = policy.replace({0, 1}, "it was changed");
    EXPECT_THAT(replaced.next, ElementsAre(Next{Next::Kind::Arm, 0})) << "1 is disabled";
    EXPECT_EQ(policy.state(0).problem, "it was changed");
}

TEST(AnArmingPolicy, HoldsHitsOfAllEvents) {
    ArmingPolicy policy(2, true);
    EXPECT_TRUE(policy.holds_hits());
    (void)policy.note_armed(0);
    (void)policy.note_not_armed(1, unreadable);
    EXPECT_THAT(policy.handle_hits().steps, ElementsAre(Step{Step::Kind::HandleHits, 0}));
    EXPECT_FALSE(policy.holds_hits());
    EXPECT_THAT(policy.hold_hits().steps,
                ElementsAre(Step{Step::Kind::IgnoreHits, 0}, Step{Step::Kind::IgnoreHits, 1}));
    EXPECT_TRUE(policy.holds_hits());
    EXPECT_THAT(policy.note_put_back(0, success()).steps, IsEmpty());
}

// Carries out decisions as EventArming does, for markers that are only values. Facts of other
// threads come between any two of its actions.
class Markers {
  public:
    enum class Attached { None, Begins, All };
    struct Event {
        Attached attached = Attached::None;
        bool handled = false, off = false, enabled = false;
        std::string reason;
    };
    static constexpr std::uint32_t count = 4;

    explicit Markers(unsigned seed) : random_(seed), policy_(count, false) {
        for (std::uint32_t event = 0; event < count; ++event) work_.push_back({Task::Arm, event});
        work_.push_back({Task::EndFirstRound, 0});
    }
    void play(unsigned facts) {
        for (unsigned fact = 0; fact < facts; ++fact) {
            if (pick(3) == 0)
                interrupt();
            else
                work();
            check();
        }
        while (!work_.empty()) work();
        check();
        check_settled();
    }

  private:
    struct Task {
        enum Kind { Arm, PutBack, Attach, Resume, ResumeStages, EndFirstRound } kind;
        std::uint32_t event;
    };
    [[nodiscard]] unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
    [[nodiscard]] Error error() {
        const auto kind = pick(2) == 0 ? ErrorKind::Timeout : ErrorKind::Busy;
        return make_error(kind, "error " + std::to_string(++errors_));
    }

    // What another thread or the kernel does meanwhile.
    void interrupt() {
        const std::uint32_t event = pick(count);
        Event& its = events_[event];
        switch (pick(6)) {
            case 0:
            case 1:
                its.off = true;
                its.enabled = false;
                its.reason = "reason " + std::to_string(++errors_);
                take(policy_.disable(event, its.reason, pick(2) == 0));
                break;
            case 2:
            case 3:
                if (its.off) its.enabled = true;
                if (policy_.enable(event, pick(2) == 0)) work_.push_back({Task::Resume, event});
                break;
            case 4: take(policy_.leave({event, (event + 1) % count}, "written")); break;
            default: work_.push_back({Task::ResumeStages, event}); break;
        }
    }

    // The next action of the arming thread. Now and then it finds a new file instead.
    void work() {
        if (work_.empty() || (work_.front().kind != Task::Attach && !first_ && pick(8) == 0)) {
            if (!first_) take(policy_.replace({pick(count)}, "replaced"));
            if (work_.empty()) return;
        }
        const Task task = work_.front();
        work_.pop_front();
        Event& its = events_[task.event];
        switch (task.kind) {
            case Task::Arm:
                if (!policy_.may_arm(task.event)) break;
                if (pick(3) == 0)
                    take(policy_.note_not_armed(task.event, fail(task.event)));
                else
                    work_.push_front({Task::Attach, task.event});
                break;
            case Task::Attach:
                if (!policy_.may_arm(task.event)) break;
                EXPECT_EQ(its.attached, Attached::None) << "its markers would be hit twice";
                EXPECT_FALSE(its.off && !its.enabled);
                its.attached = Attached::All;
                its.handled = true;
                if (pick(4) == 0) {
                    take(policy_.note_changed(task.event, fail(task.event)));
                } else {
                    its.off = its.enabled = false;
                    take(policy_.note_armed(task.event));
                }
                break;
            case Task::PutBack:
                if (!policy_.may_put_back(task.event)) {
                    work_.push_front({Task::Arm, task.event});
                    break;
                }
                EXPECT_NE(its.attached, Attached::None);
                EXPECT_FALSE(its.off && !its.enabled);
                if (pick(3) == 0) {
                    take(policy_.note_put_back(task.event, error()));
                } else {
                    its.attached = Attached::All;
                    its.off = its.enabled = false;
                    take(policy_.note_put_back(task.event, success()));
                }
                break;
            case Task::Resume: take(policy_.resume(task.event)); break;
            case Task::ResumeStages: take(policy_.resume_stages(task.event)); break;
            case Task::EndFirstRound:
                first_ = false;
                take(policy_.end_first_round());
                break;
        }
    }
    Error fail(std::uint32_t event) {
        const Error failed = error();
        if (first_ && failed.kind == ErrorKind::Timeout) return failed;
        events_[event].off = events_[event].enabled = false;
        return failed;
    }

    void take(const Decision& decision) {
        for (const Step& step : decision.steps) {
            Event& its = events_[step.event];
            switch (step.kind) {
                case Step::Kind::IgnoreHits: its.handled = false; break;
                case Step::Kind::HandleHits: its.handled = true; break;
                case Step::Kind::EndLimits: break;
                case Step::Kind::KeepBegins:
                    its.attached = Attached::Begins;
                    its.handled = false;
                    break;
                case Step::Kind::Detach:
                case Step::Kind::DetachSoon:
                    EXPECT_FALSE(its.handled) << "its hits still have an effect";
                    its.attached = Attached::None;
                    break;
            }
        }
        std::deque<Task> first;
        for (const Next& next : decision.next) {
            if (next.kind == Next::Kind::Arm) first.push_back({Task::Arm, next.event});
            if (next.kind == Next::Kind::PutBack) first.push_back({Task::PutBack, next.event});
            if (next.kind == Next::Kind::Report) {
                EXPECT_EQ(policy_.state(next.event).problem, next.problem);
            }
        }
        work_.insert(work_.begin(), first.begin(), first.end());
    }

    void check() const {
        for (std::uint32_t event = 0; event < count; ++event) {
            const ArmingPolicy::State& state = policy_.state(event);
            const Event& its = events_[event];
            EXPECT_EQ(state.armed(), its.attached == Attached::All) << event;
            EXPECT_EQ(state.counted, its.attached == Attached::Begins) << event;
            EXPECT_EQ(its.handled, state.armed()) << event;
            EXPECT_EQ(state.disabled, its.off) << event;
            if (its.off) {
                EXPECT_EQ(state.problem, its.reason);
            }
        }
    }
    // An event has markers, is disabled, or has an error to show.
    void check_settled() const {
        EXPECT_EQ(policy_.count_arming(), 0U);
        for (std::uint32_t event = 0; event < count; ++event) {
            const ArmingPolicy::State& state = policy_.state(event);
            EXPECT_FALSE(events_[event].enabled) << "enabled, but not armed";
            EXPECT_NE(state.problem, "replaced") << "nobody attaches it again";
            EXPECT_NE(state.problem, "its markers are being reattached");
        }
    }

    std::mt19937 random_;
    ArmingPolicy policy_;
    std::deque<Task> work_;
    std::vector<Event> events_ = std::vector<Event>(count);
    bool first_ = true;
    unsigned errors_ = 0;
};

TEST(AnArmingPolicy, KeepsItsStateAndTheMarkersAlikeWhateverHappens) {
    for (unsigned seed = 0; seed < 2'000 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Markers(seed).play(120);
    }
}

}  // namespace
}  // namespace lagtrap::daemon::arming_policy_test
