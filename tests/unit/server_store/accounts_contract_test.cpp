#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::accounts_contract_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

using AccountsContract = StoreTest;
using JobsContract = StoreTest;

TEST_F(AccountsContract, AnAccountIsMadeOnceAndChanged) {
    const Account ann{"ann", Role::Admin, "$argon2id$a", 5, false};
    EXPECT_EQ(must(store_->accounts().add_account(ann)), AddOutcome::New);
    EXPECT_EQ(must(store_->accounts().add_account(ann)), AddOutcome::Already);
    ASSERT_TRUE(store_->accounts().add_session({"s1", "ann", 1, 1, 100, "::1"}).ok());
    ASSERT_TRUE(store_->accounts().add_session({"s2", "ann", 2, 2, 100, "::1"}).ok());
    EXPECT_TRUE(must(store_->accounts().change_account(ann, "")));
    const auto sessions = must(store_->accounts().sessions("ann"));
    ASSERT_THAT(sessions, SizeIs(2));
    EXPECT_EQ(sessions[0].token_sha256, "s2") << "the newest comes first";
    Account changed = ann;
    changed.password_hash = "$argon2id$b";
    EXPECT_TRUE(must(store_->accounts().change_account(changed, "s2")));
    EXPECT_FALSE(must(store_->accounts().find_session("s1")).has_value());
    EXPECT_TRUE(must(store_->accounts().find_session("s2")).has_value());
    EXPECT_EQ(must(store_->accounts().find_account("ann"))->password_hash, "$argon2id$b");
    changed.disabled = true;
    EXPECT_TRUE(must(store_->accounts().change_account(changed, "s2")));
    EXPECT_FALSE(must(store_->accounts().find_session("s2")).has_value());
    EXPECT_FALSE(must(store_->accounts().change_account({"bob", Role::Reader, "", 0, false}, "")));
    ASSERT_TRUE(store_->accounts().remove_account("ann").ok());
    EXPECT_THAT(must(store_->accounts().list()), IsEmpty());
    EXPECT_THAT(must(store_->accounts().sessions("ann")), IsEmpty());
}

TEST_F(AccountsContract, SessionsEndAndExpire) {
    EXPECT_EQ(must(store_->accounts().add_account({"ann", Role::Reader, "x", 5, false})),
              AddOutcome::New);
    ASSERT_TRUE(store_->accounts().add_session({"s1", "ann", 1, 1, monday + 100, ""}).ok());
    ASSERT_TRUE(store_->accounts().add_session({"s2", "ann", 1, 1, monday + 300, ""}).ok());
    ASSERT_TRUE(store_->accounts().touch_session("s1", 50).ok());
    ASSERT_TRUE(store_->accounts().touch_session("s1", 40).ok());
    EXPECT_EQ(must(store_->accounts().find_session("s1"))->used_realtime_ns, 50U);
    ASSERT_TRUE(store_->upkeep().maintain(monday + 200).ok());
    EXPECT_FALSE(must(store_->accounts().find_session("s1")).has_value());
    ASSERT_TRUE(store_->accounts().remove_session("s2").ok());
    EXPECT_FALSE(must(store_->accounts().find_session("s2")).has_value());
}

TEST_F(AccountsContract, TokensAndAudit) {
    Token token{"id1", "hash", "builder", ScopeUpload | ScopeRead, "alpha", "farm", "ann",
                7,     {},     {}};
    ASSERT_TRUE(store_->tokens().add_token(token).ok());
    EXPECT_FALSE(store_->tokens().add_token(token).ok());
    ASSERT_TRUE(store_->tokens().touch_token("id1", 9).ok());
    const auto found = must(store_->tokens().find_token("id1"));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->scopes, 3U);
    EXPECT_EQ(found->group, "farm");
    EXPECT_FALSE(found->expires_realtime_ns.has_value());
    EXPECT_EQ(found->used_realtime_ns, 9U);
    EXPECT_TRUE(must(store_->tokens().remove_token("id1")));
    EXPECT_FALSE(must(store_->tokens().remove_token("id1")));
    for (std::uint64_t i = 1; i <= 3; ++i)
        ASSERT_TRUE(store_->audit().add_audit({0, i, "ann", "token", "id1", "made"}).ok());
    const auto entries = must(store_->audit().list(2, {}, AuditPart::All));
    ASSERT_THAT(entries, SizeIs(2));
    EXPECT_EQ(entries[0].at_realtime_ns, 3U);
    EXPECT_THAT(must(store_->audit().list(9, entries[1].number, AuditPart::All)), SizeIs(1));
}

TEST_F(AccountsContract, ThePartsOfTheAudit) {
    for (const char* action : {"sign in", "add token", "refuse token", "refuse sign-in", "sign out",
                               "refused by nobody"})
        ASSERT_TRUE(store_->audit().add_audit({0, 1, "ann", action, "", ""}).ok());
    const auto actions = [&](AuditPart part, std::uint32_t limit,
                             std::optional<std::uint64_t> before) {
        std::vector<std::string> found;
        for (const AuditEntry& entry : must(store_->audit().list(limit, before, part)))
            found.push_back(entry.action);
        return found;
    };
    EXPECT_THAT(actions(AuditPart::SignIns, 9, {}),
                ElementsAre("sign out", "refuse sign-in", "sign in"));
    EXPECT_THAT(actions(AuditPart::Refusals, 9, {}), ElementsAre("refuse sign-in", "refuse token"));
    const auto first = must(store_->audit().list(1, {}, AuditPart::SignIns));
    EXPECT_THAT(actions(AuditPart::SignIns, 1, first[0].number), ElementsAre("refuse sign-in"));
}

TEST_F(AccountsContract, TheAuditIsKeptForFourHundredDays) {
    constexpr std::uint64_t a_day_ns = 86'400ULL * 1'000'000'000ULL;
    for (const std::uint64_t day : {1ULL, 2ULL, 300ULL})
        ASSERT_TRUE(store_->audit().add_audit({0, day * a_day_ns, "ann", "sign in", "", ""}).ok());
    ASSERT_TRUE(store_->upkeep().maintain(401 * a_day_ns).ok());
    EXPECT_THAT(must(store_->audit().list(9, {}, AuditPart::All)), SizeIs(3));
    ASSERT_TRUE(store_->upkeep().maintain(402 * a_day_ns).ok());
    EXPECT_THAT(must(store_->audit().list(9, {}, AuditPart::All)), SizeIs(2));
}

TEST_F(JobsContract, AJobIsTakenOnceAndFinished) {
    EXPECT_EQ(must(store_->jobs().put_job({"parse", "d1", 10})), AddOutcome::New);
    EXPECT_EQ(must(store_->jobs().put_job({"parse", "d1", 20})), AddOutcome::Already);
    EXPECT_FALSE(must(store_->jobs().take_job({}, 9, 1s)).has_value());
    EXPECT_FALSE(must(store_->jobs().take_job({"dirty"}, 10, 1s)).has_value());
    const auto job = must(store_->jobs().take_job({"dirty", "parse"}, 10, 1s));
    ASSERT_TRUE(job.has_value());
    EXPECT_EQ(job->payload, "d1");
    EXPECT_FALSE(must(store_->jobs().take_job({}, 11, 1s)).has_value());
    EXPECT_EQ(must(store_->jobs().put_job({"parse", "d1", 20})), AddOutcome::New);
    EXPECT_EQ(must(store_->jobs().job_counts()).running, 1U);
    EXPECT_TRUE(must(store_->jobs().finish_job(*job)));
    EXPECT_FALSE(must(store_->jobs().finish_job(*job)));
    EXPECT_EQ(must(store_->jobs().job_counts()).waiting, 1U);
}

TEST_F(JobsContract, ALeaseThatIsOverGoesToAnother) {
    EXPECT_EQ(must(store_->jobs().put_job({"parse", "d1", 0})), AddOutcome::New);
    const auto first = must(store_->jobs().take_job({}, 1, 100ns));
    ASSERT_TRUE(first.has_value());
    EXPECT_TRUE(must(store_->jobs().renew_job(*first, 50, 100ns)));
    EXPECT_FALSE(must(store_->jobs().take_job({}, 140, 100ns)).has_value());
    const auto second_taker = must(store_->jobs().take_job({}, 151, 100ns));
    ASSERT_TRUE(second_taker.has_value());
    EXPECT_EQ(second_taker->attempts, 2U);
    EXPECT_FALSE(must(store_->jobs().finish_job(*first)));
    EXPECT_FALSE(must(store_->jobs().renew_job(*first, 160, 100ns)));
    ASSERT_TRUE(must(store_->jobs().take_job({}, 300, 100ns)).has_value());
    EXPECT_FALSE(must(store_->jobs().take_job({}, 500, 100ns)).has_value());
    const auto failed = must(store_->jobs().failed_jobs(10));
    ASSERT_THAT(failed, SizeIs(1));
    EXPECT_EQ(failed[0].job.payload, "d1");
}

TEST_F(JobsContract, AJobFailsForGoodAfterThreeAttempts) {
    EXPECT_EQ(must(store_->jobs().put_job({"parse", "d1", 0})), AddOutcome::New);
    for (std::uint64_t attempt = 1; attempt <= 3; ++attempt) {
        const auto job = must(store_->jobs().take_job({}, attempt * 100, 50ns));
        ASSERT_TRUE(job.has_value());
        EXPECT_EQ(job->attempts, attempt);
        EXPECT_TRUE(
            must(store_->jobs().fail_job(*job, "torn", attempt * 100 + 1, attempt * 100 + 99)));
        EXPECT_FALSE(must(store_->jobs().take_job({}, attempt * 100 + 2, 50ns)).has_value());
    }
    EXPECT_EQ(must(store_->jobs().job_counts()).failed, 1U);
    EXPECT_EQ(must(store_->jobs().failed_jobs(10)).at(0).reason, "torn");
}

TEST_F(JobsContract, ManyTakersTakeEachJobOnce) {
    constexpr std::uint64_t jobs = 60;
    for (std::uint64_t i = 0; i < jobs; ++i)
        EXPECT_EQ(must(store_->jobs().put_job({"parse", std::to_string(i), i})), AddOutcome::New);
    std::mutex mutex;
    std::multiset<std::string> taken;
    std::vector<std::thread> takers;
    for (int taker = 0; taker < 4; ++taker)
        takers.emplace_back([&] {
            for (;;) {
                const auto job = must(store_->jobs().take_job({}, 1000, 1h));
                if (!job) return;
                EXPECT_TRUE(must(store_->jobs().finish_job(*job)));
                const std::lock_guard lock(mutex);
                taken.insert(job->payload);
            }
        });
    for (std::thread& taker : takers) taker.join();
    EXPECT_EQ(taken.size(), jobs);
    EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), jobs);
}

}  // namespace
}  // namespace lagtrap::server::accounts_contract_test
