#include "daemon/capture/capture_policy.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::daemon::capture_policy_test {
namespace {

using namespace std::chrono_literals;
using namespace capture_action;
using Clock = CapturePolicy::Clock;

CaptureRules rules_for(std::vector<std::string> names, std::uint32_t captures_per_hour = 100,
                       std::chrono::nanoseconds cool_down = 30s) {
    CaptureRules rules;
    for (std::string& name : names) rules.events.push_back({std::move(name), {2s, 10s}});
    rules.captures_per_hour = captures_per_hour;
    rules.cool_down = cool_down;
    return rules;
}

template <class Action>
const Action* find(const CapturePolicy::Actions& actions) {
    for (const CaptureAction& action : actions)
        if (const auto* const found = std::get_if<Action>(&action)) return found;
    return nullptr;
}

capture_fact::Breached breach_of(std::uint32_t event, bool at_deadline = false) {
    return {"session", event, at_deadline, std::nullopt};
}

class CapturePolicyTest : public ::testing::Test {
  protected:
    void SetUp() override { (void)policy_.use(rules_for({"a", "b"}), {}, now_); }
    void record(std::uint32_t event, bool at_deadline = false) {
        ASSERT_TRUE(find<Record>(policy_.on(breach_of(event, at_deadline), context_, now_)));
        (void)policy_.on(capture_fact::Began{1'000}, now_);
    }
    CapturePolicy::Actions end() { return policy_.on(capture_fact::Ended{}, context_, now_); }
    CapturePolicy::Actions written(std::uint64_t bytes,
                                   AwaitedRun::State run = AwaitedRun::State::GoesOn) {
        return policy_.on(capture_fact::Written{bytes, run}, now_);
    }

    CapturePolicy policy_;
    CaptureContext context_;
    Clock::time_point now_{100h};
};

TEST_F(CapturePolicyTest, ABreachIsRecordedForItsEventsLength) {
    const auto actions = policy_.on(breach_of(1), context_, now_);
    const Record* const record = find<Record>(actions);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->session, "session");
    EXPECT_EQ(record->event, 1U);
    EXPECT_EQ(record->reason, trace::TriggerReason::End);
    EXPECT_EQ(policy_.state(), CapturePolicy::State::Recording);
    now_ += 1s;
    (void)policy_.on(capture_fact::Began{1'000}, now_);
    EXPECT_EQ(policy_.ends(), now_ + 2s) << "counted from when the recorder ran";
    now_ += 1999ms;
    EXPECT_TRUE(written(1'000).empty());
    now_ += 1ms;
    const auto stopped = written(1'000);
    ASSERT_TRUE(find<Stop>(stopped));
    EXPECT_EQ(find<Stop>(stopped)->why, trace::RecordingEnd::Length);
}

TEST_F(CapturePolicyTest, AtTheSizeLimitTheRecordingEnds) {
    record(0);
    const auto stopped = written(1'001);
    ASSERT_TRUE(find<Stop>(stopped));
    EXPECT_EQ(find<Stop>(stopped)->why, trace::RecordingEnd::Size);
}

TEST_F(CapturePolicyTest, ARunThatIsStillOpenExtendsItsRecordingOnce) {
    record(0, true);
    const auto began = now_;
    now_ += 2s;
    EXPECT_TRUE(find<Extended>(written(1)));
    EXPECT_EQ(policy_.ends(), began + 10s);
    now_ += 1s;
    EXPECT_TRUE(written(1).empty());
    const auto stopped = written(1, AwaitedRun::State::Ended);
    ASSERT_TRUE(find<Stop>(stopped));
    EXPECT_EQ(find<Stop>(stopped)->why, trace::RecordingEnd::RunEnd);
}

TEST_F(CapturePolicyTest, AfterItsRecordingAnEventRestsAndOthersDoNot) {
    record(0);
    now_ += 2s;
    const auto actions = end();
    ASSERT_TRUE(find<CloseEvents>(actions));
    EXPECT_EQ(find<CloseEvents>(actions)->events, std::set<std::uint32_t>{0});
    EXPECT_TRUE(find<WantBreaches>(actions)) << "for the other event";
    EXPECT_EQ(policy_.next_change(), now_ + 30s);
    EXPECT_FALSE(find<Record>(policy_.on(breach_of(0), context_, now_)));
    EXPECT_TRUE(find<Record>(policy_.on(breach_of(1), context_, now_)));
}

TEST_F(CapturePolicyTest, IfAllEventsRestNoBreachIsWanted) {
    (void)policy_.use(rules_for({"a"}), {}, now_);
    record(0);
    EXPECT_FALSE(find<WantBreaches>(end()));
    EXPECT_EQ(policy_.state(), CapturePolicy::State::CoolingDown);
    EXPECT_EQ(policy_.ends(), now_ + 30s);
    now_ += 30s;
    const auto actions = policy_.on(capture_fact::LimitsDue{}, context_, now_);
    ASSERT_TRUE(find<WantBreaches>(actions));
    EXPECT_EQ(policy_.state(), CapturePolicy::State::Waiting);
    EXPECT_FALSE(policy_.next_change());
}

TEST_F(CapturePolicyTest, ARequestIsRecordedWhateverTheLimits) {
    record(0);
    EXPECT_TRUE(
        policy_.on(capture_fact::Requested{"r", 0, {1s, 1s}, false}, context_, now_).empty())
        << "one at a time";
    (void)end();
    const auto actions =
        policy_.on(capture_fact::Requested{"r", 0, {1s, 1s}, false}, context_, now_);
    ASSERT_TRUE(find<Record>(actions));
    EXPECT_EQ(find<Record>(actions)->reason, trace::TriggerReason::Manual);
    (void)end();
    EXPECT_EQ(policy_.begun(), 2U);
    EXPECT_EQ(policy_.begun_for("a"), 2U);
}

TEST_F(CapturePolicyTest, AClientsRecordingWithADelayIsKeptForItsEventToo) {
    (void)policy_.on(capture_fact::Requested{"r", 0, {1s, 1s}, true}, context_, now_);
    EXPECT_FALSE(policy_.event_to_share(context_, now_));
    context_.delays["b"] = 1;
    EXPECT_EQ(policy_.event_to_share(context_, now_), "b");
    (void)end();
    EXPECT_TRUE(policy_.closed_events().contains("b")) << "it was recorded, so it rests";
    EXPECT_EQ(policy_.begun_for("a"), 0U);
    EXPECT_EQ(policy_.begun_for("b"), 1U);
}

TEST_F(CapturePolicyTest, NothingIsSharedThatSomebodyMustAgreeTo) {
    CaptureRules rules = rules_for({"a", "b"});
    rules.asks = true;
    (void)policy_.use(std::move(rules), {}, now_);
    (void)policy_.on(capture_fact::Requested{"r", 0, {1s, 1s}, true}, context_, now_);
    context_.delays["b"] = 1;
    EXPECT_FALSE(policy_.event_to_share(context_, now_));
}

TEST_F(CapturePolicyTest, AFailedRecordingIsCountedAndOver) {
    (void)policy_.on(breach_of(0), context_, now_);
    (void)policy_.on(capture_fact::Ended{true}, context_, now_);
    EXPECT_EQ(policy_.failed(), 1U);
    EXPECT_EQ(policy_.state(), CapturePolicy::State::Waiting);
    EXPECT_TRUE(policy_.on(capture_fact::Ended{true}, context_, now_).empty());
}

TEST_F(CapturePolicyTest, SomebodyIsAskedFirst) {
    CaptureRules rules = rules_for({"a"});
    rules.asks = true;
    (void)policy_.use(std::move(rules), {}, now_);
    EXPECT_TRUE(find<Ask>(policy_.on(breach_of(0), context_, now_)));
    EXPECT_EQ(policy_.state(), CapturePolicy::State::Waiting);
    EXPECT_TRUE(find<WantBreaches>(policy_.on(capture_fact::NotAsked{})))
        << "the next one is asked about";
    EXPECT_TRUE(find<Record>(policy_.on(capture_fact::Asked{breach_of(0)}, context_, now_)));
}

TEST_F(CapturePolicyTest, DelaysWithoutRoomForAQuestionAreCounted) {
    CaptureRules rules = rules_for({"a", "b"}, 100, 0s);
    rules.asks = true;
    (void)policy_.use(std::move(rules), {}, now_);
    (void)policy_.on(capture_fact::Asked{breach_of(0)}, context_, now_);
    context_.questions_full_until = now_ + 1min;
    const auto actions = end();
    EXPECT_TRUE(find<TooManyQuestions>(actions));
    EXPECT_FALSE(find<WantBreaches>(actions));
    context_.delays = {{"a", 2}, {"b", 3}};
    EXPECT_EQ(policy_.skipped(context_.delays).questions, 5U);
    context_.questions_full_until.reset();
    EXPECT_TRUE(find<WantBreaches>(policy_.on(capture_fact::Answered{}, context_, now_)));
    context_.delays["a"] = 4;
    EXPECT_EQ(policy_.skipped(context_.delays).questions, 5U);
}

TEST_F(CapturePolicyTest, HeldEventsBeginNoRecording) {
    const auto actions = policy_.on(capture_fact::Held{{{"a", now_ + 1h}}}, context_, now_);
    ASSERT_TRUE(find<CloseEvents>(actions));
    EXPECT_EQ(find<CloseEvents>(actions)->events, std::set<std::uint32_t>{0});
}

TEST_F(CapturePolicyTest, AnEarlyRecordingBecomesPartOfOneOrIsDropped) {
    EXPECT_TRUE(find<BeginEarly>(policy_.on(capture_fact::EarlyPoint{7})));
    EXPECT_TRUE(policy_.on(capture_fact::EarlyOver{}).empty()) << "it did not begin";
    (void)policy_.on(capture_fact::EarlyBegan{});
    EXPECT_TRUE(policy_.on(capture_fact::EarlyPoint{8}).empty()) << "one at a time";
    record(0);
    EXPECT_TRUE(policy_.on(capture_fact::EarlyOver{}).empty()) << "it is part of the recording";
    EXPECT_TRUE(policy_.on(capture_fact::EarlyPoint{8}).empty()) << "everything is recorded";
    (void)end();
    (void)policy_.on(capture_fact::EarlyBegan{});
    const auto full = policy_.on(capture_fact::EarlyFull{});
    ASSERT_TRUE(find<DropEarly>(full));
    EXPECT_TRUE(find<DropEarly>(full)->outgrown);
    (void)policy_.on(capture_fact::EarlyBegan{});
    EXPECT_TRUE(find<DropEarly>(policy_.on(capture_fact::HistoryWanted{false})));
    EXPECT_TRUE(policy_.on(capture_fact::EarlyPoint{9}).empty());
}

TEST_F(CapturePolicyTest, APartyThatUsedItsShareIsClosedAndNamedOnce) {
    (void)policy_.use(rules_for({"a", "b"}, 2, 0s), {}, now_);
    context_.parties.add(7);
    context_.parties.add(9);
    capture_fact::Breached breach = breach_of(0);
    breach.party = 7;
    (void)policy_.on(breach, context_, now_);
    const auto actions = end();
    ASSERT_TRUE(find<CloseParties>(actions));
    EXPECT_EQ(find<CloseParties>(actions)->parties, std::set<Party>{7});
    EXPECT_TRUE(find<PartyUsedShare>(actions));
    EXPECT_FALSE(
        find<PartyUsedShare>(policy_.on(capture_fact::LimitsDue{}, context_, now_ + 1min)));
}

// Four hours of random facts. Carries out the actions as the controller does, without a recorder.
class RandomCaptures : public ::testing::TestWithParam<std::uint32_t> {
  protected:
    static constexpr std::size_t max_questions = 2;
    static constexpr std::uint32_t per_hour = 12;

    [[nodiscard]] std::uint32_t chance(std::uint32_t below) {
        return std::uniform_int_distribution<std::uint32_t>(0, below - 1)(random_);
    }
    [[nodiscard]] CaptureContext context() const {
        CaptureContext context{delays_, {}, std::nullopt};
        if (questions_ >= max_questions) context.questions_full_until = now_ + 1min;
        return context;
    }
    void begin(bool asks) {
        CaptureRules rules = rules_for({names_.begin(), names_.end()}, per_hour);
        rules.asks = asks;
        carry_out(policy_.use(std::move(rules), context(), now_));
    }
    void carry_out(const CapturePolicy::Actions& actions) {
        for (const CaptureAction& action : actions) {
            if (const auto* const ask = std::get_if<Ask>(&action)) {
                ASSERT_LT(questions_, max_questions);
                if (chance(10) == 0) {
                    unasked_ += 1;
                    carry_out(policy_.on(capture_fact::NotAsked{}));
                } else {
                    ++questions_;
                    carry_out(policy_.on(capture_fact::Asked{ask->breach}, context(), now_));
                }
            } else if (const auto* const record = std::get_if<Record>(&action)) {
                take_record(*record);
            } else if (std::holds_alternative<Stop>(action)) {
                ASSERT_TRUE(recording_);
                end(false);
            } else if (const auto* const want = std::get_if<WantBreaches>(&action)) {
                wanted_ = want->wanted;
            } else if (const auto* const close = std::get_if<CloseEvents>(&action)) {
                closed_ = close->events;
            } else if (std::holds_alternative<BeginEarly>(action)) {
                ASSERT_FALSE(recording_ || early_);
                early_ = true;
                carry_out(policy_.on(capture_fact::EarlyBegan{}));
            } else if (std::holds_alternative<DropEarly>(action)) {
                ASSERT_TRUE(early_);
                early_ = false;
            }
        }
    }
    void take_record(const Record& record) {
        ASSERT_FALSE(recording_) << "one at a time";
        recording_ = true;
        early_ = false;
        if (record.reason != trace::TriggerReason::Manual) begun_.push_back({record.event, now_});
        if (chance(10) == 0)
            end(true);
        else
            carry_out(policy_.on(capture_fact::Began{1'000}, now_));
    }
    void end(bool failed) {
        recording_ = false;
        carry_out(policy_.on(capture_fact::Ended{failed}, context(), now_));
    }
    // A run ends over its threshold.
    void delay(std::uint32_t event) {
        ++delays_[names_[event]];
        const bool reported = wanted_ && !closed_.contains(event);
        if (recording_)
            ++covered_;
        else if (!reported)
            ++skipped_;
        if (recording_ || !reported) return;
        ++covered_;
        wanted_ = false;  // after a report, until the policy wants the next
        const std::uint64_t begun = policy_.begun(), unasked = unasked_;
        carry_out(policy_.on(breach_of(event), context(), now_));
        ASSERT_EQ(policy_.begun() + unasked_, begun + unasked + 1) << "a report is not lost";
    }
    void pass_time() {
        now_ += std::chrono::milliseconds(chance(20'000));
        if (recording_ && now_ >= policy_.ends())
            carry_out(policy_.on(capture_fact::Written{1, AwaitedRun::State::Ended}, now_));
        if (const auto due = policy_.next_change(); due && *due <= now_)
            carry_out(policy_.on(capture_fact::LimitsDue{}, context(), now_));
    }
    void step() {
        pass_time();
        switch (chance(8)) {
            case 0: return carry_out(policy_.on(capture_fact::EarlyPoint{1}));
            case 1: return carry_out(policy_.on(capture_fact::EarlyOver{}));
            case 2:
                if (questions_ > 0) --questions_;
                return carry_out(policy_.on(capture_fact::Answered{}, context(), now_));
            case 3:
                if (chance(20) > 0) return;
                return carry_out(
                    policy_.on(capture_fact::Requested{"r", chance(5), {1s, 1s}, chance(2) == 0},
                               context(), now_));
            // the first event is noisy
            default: return delay(chance(14) < 10 ? 0 : 1 + chance(4));
        }
    }
    void check() const {
        EXPECT_EQ(recording_, policy_.state() == CapturePolicy::State::Recording);
        EXPECT_EQ(early_, policy_.is_early());
        EXPECT_FALSE(early_ && recording_);
        if (!recording_ && closed_.size() < names_.size()) {
            EXPECT_TRUE(wanted_) << "a delay that may be recorded would be missed";
        }
        const CaptureLimits::Skipped counted = policy_.skipped(delays_);
        EXPECT_EQ(counted.cool_down + counted.hourly_limit + counted.event_share +
                      counted.daily_limit + counted.questions,
                  skipped_)
            << "each delay is recorded, in a recording, or counted";
        for (std::uint32_t event = 1; event < names_.size(); ++event) {
            const auto closed = policy_.closed_events().find(names_[event]);
            if (closed == policy_.closed_events().end() || was_recorded(event)) continue;
            EXPECT_TRUE(closed->second.reason == CaptureLimits::Reason::CoolDown ||
                        closed->second.reason == CaptureLimits::Reason::Questions)
                << "the noisy event took the recordings of " << names_[event];
        }
    }
    [[nodiscard]] bool was_recorded(std::uint32_t event) const {
        return std::any_of(begun_.begin(), begun_.end(), [&](const auto& one) {
            return one.event == event && now_ - one.at < 1h;
        });
    }

    struct Begun {
        std::uint32_t event;
        Clock::time_point at;
    };
    const std::vector<std::string> names_{"noisy", "a", "b", "c", "d"};
    std::mt19937 random_{GetParam()};
    CapturePolicy policy_;
    Clock::time_point now_{100h};
    CaptureLimits::Delays delays_;
    std::set<std::uint32_t> closed_;
    std::vector<Begun> begun_;
    bool wanted_ = false, recording_ = false, early_ = false;
    std::size_t questions_ = 0;
    std::uint64_t covered_ = 0, skipped_ = 0, unasked_ = 0;
};

TEST_P(RandomCaptures, EveryDelayIsRecordedOrCountedAndNoEventTakesThoseOfAnother) {
    begin(GetParam() % 2 == 0);
    while (now_ < Clock::time_point{104h} && !HasFailure()) {
        step();
        check();
    }
    EXPECT_GT(policy_.begun(), 20U);
    EXPECT_GT(covered_, 20U);
    EXPECT_GT(skipped_, 20U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCaptures, ::testing::Range(1U, 41U));

}  // namespace
}  // namespace lagtrap::daemon::capture_policy_test
