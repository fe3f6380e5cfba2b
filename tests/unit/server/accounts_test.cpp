#include <sodium.h>

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "server/accounts/authenticator.hpp"
#include "server/accounts/passwords.hpp"
#include "server/accounts/rate_limit.hpp"
#include "server/accounts/same_origin.hpp"
#include "server/accounts/secrets.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::accounts_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t second_ns = 1'000'000'000ULL;
constexpr std::uint64_t hour_ns = 3600 * second_ns;
constexpr std::uint64_t now_ns = 1'700'000'000ULL * second_ns;
const std::string password = "correct horse battery";

TEST(Passwords, AreArgon2AndMatchThemselvesAlone) {
    const auto hash = hash_password(password);
    ASSERT_TRUE(hash.ok()) << hash.error().message;
    EXPECT_THAT(*hash, StartsWith("$argon2id$v=19$m=47104,t=1,p=1$"));
    EXPECT_EQ(match_password(*hash, password), PasswordMatch::Yes);
    EXPECT_EQ(match_password(*hash, password + " "), PasswordMatch::No);
    EXPECT_EQ(match_password("", password), PasswordMatch::No);
    EXPECT_EQ(match_password("no hash", password), PasswordMatch::No);
    EXPECT_NE(*hash_password(password), *hash);
}

TEST(Passwords, OfWeakerSettingsAskForANewHash) {
    char weak[crypto_pwhash_STRBYTES];
    ASSERT_EQ(crypto_pwhash_str(weak, password.data(), password.size(), 1, 8 << 20), 0);
    EXPECT_EQ(match_password(weak, password), PasswordMatch::YesRehash);
    EXPECT_EQ(match_password(weak, "another"), PasswordMatch::No);
}

TEST(Passwords, HaveALength) {
    EXPECT_THAT(check_password("short").error().message, HasSubstr("5 letters; at least 12"));
    EXPECT_TRUE(check_password("twelve lette").ok());
    // six letters, twelve bytes
    EXPECT_FALSE(check_password("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4").ok());
    EXPECT_EQ(check_password("eleven lett").error().message,
              "the password has 11 letters; at least 12 are needed");
    std::string twelve;
    for (int letter = 0; letter < 12; ++letter) twelve += "\xc3\xa4";
    EXPECT_TRUE(check_password(twelve).ok());
    EXPECT_TRUE(check_password(std::string(1024, 'x')).ok());
    const Status longer = check_password(std::string(1025, 'x'));
    ASSERT_FALSE(longer.ok());
    EXPECT_EQ(longer.error().kind, ErrorKind::TooLarge);
    EXPECT_EQ(longer.error().message, "the password is longer than 1024 bytes");
}

TEST(Secrets, TokensHaveOneForm) {
    const MachineToken token = MachineToken::make();
    const auto parsed = MachineToken::parse(token.text());
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->id, token.id);
    EXPECT_EQ(parsed->secret, token.secret);
    EXPECT_EQ(token.secret.size(), 43U);
    std::set<std::string> secrets;
    for (int i = 0; i < 100; ++i) secrets.insert(random_secret());
    EXPECT_EQ(secrets.size(), 100U);
    const std::string text = token.text();
    for (const std::string& wrong :
         {std::string(), std::string("ltu_"), text.substr(1), text + "x",
          text.substr(0, text.size() - 1), "ltu_" + token.secret, std::string("lt_upload_00")})
        EXPECT_FALSE(MachineToken::parse(wrong).has_value()) << wrong;
    const std::string id = "0123456789ab", secret(43, 'x');
    EXPECT_TRUE(MachineToken::parse("ltu_" + id + "_" + secret).has_value());
    EXPECT_TRUE(MachineToken::parse("ltu_" + id + "_-_" + secret.substr(2)).has_value());
    EXPECT_FALSE(MachineToken::parse("ltu_0123456789AB_" + secret).has_value());
    EXPECT_FALSE(MachineToken::parse("ltu_" + id + "-" + secret).has_value());
    EXPECT_FALSE(MachineToken::parse("ltu_" + id + "_+" + secret.substr(1)).has_value());
}

TEST(Secrets, AreEqualOnlyAsAWhole) {
    EXPECT_TRUE(equal_secrets("abc", "abc"));
    EXPECT_FALSE(equal_secrets("abc", "abd"));
    EXPECT_FALSE(equal_secrets("abc", "ab"));
    EXPECT_FALSE(equal_secrets("", "a"));
    EXPECT_EQ(sha256_base64url("abc"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
    EXPECT_EQ(random_id().size(), 12U);
    EXPECT_EQ(random_id().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(SameOrigin, DecidesByWhatTheBrowserSays) {
    const auto check = [](RequestOrigin origin, NoOrigin without = NoOrigin::Refuse) {
        return is_same_origin(origin, without);
    };
    EXPECT_TRUE(check({"same-origin", "", "a"}));
    EXPECT_TRUE(check({"none", "", "a"}));
    // Sec-Fetch-Site takes precedence over Origin, and a page can set neither.
    EXPECT_FALSE(check({"cross-site", "https://a", "a"}));
    EXPECT_FALSE(check({"same-site", "https://a", "a"}));
    EXPECT_TRUE(check({"", "https://a:8443", "a:8443"}));
    EXPECT_FALSE(check({"", "https://b", "a"}));
    EXPECT_FALSE(check({"", "https://a.evil", "a"}));
    EXPECT_FALSE(check({"", "null", "a"}));
    EXPECT_FALSE(check({"", "https://", ""}));
    EXPECT_FALSE(check({"", "", "a"}));
    EXPECT_TRUE(check({"", "", "a"}, NoOrigin::Allow));
    EXPECT_FALSE(check({"", "https://b", "a"}, NoOrigin::Allow));
}

TEST(RateLimit, GivesABurstAndThenTheRate) {
    RateLimit limit(Rate{2, 3});
    const RateLimit::Clock::time_point start{};
    for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.take("a", 1, start), 0ms);
    EXPECT_EQ(limit.take("a", 1, start), 500ms);
    EXPECT_EQ(limit.take("b", 1, start), 0ms);
    EXPECT_EQ(limit.take("a", 1, start + 500ms), 0ms);
    EXPECT_GT(limit.take("a", 1, start + 500ms), 0ms);
    EXPECT_EQ(limit.take("a", 1, start + 1h), 0ms);
    EXPECT_EQ(RateLimit(Rate{0, 0}).take("a", 1e9, start), 0ms);
}

TEST(RateLimit, ARateOfZeroIsNoLimit) {
    const RateLimit::Clock::time_point start{};
    for (const double burst : {0.0, 3.0}) {
        RateLimit limit(Rate{0, burst});
        for (int i = 0; i < 5; ++i) EXPECT_EQ(limit.take("a", 2, start), 0ms);
        limit.give_back("a", 2);
        EXPECT_EQ(limit.take("a", 2, start), 0ms);
    }
}

TEST(RateLimit, WhoWaitsLongSavesNoMoreThanABurst) {
    RateLimit limit(Rate{1, 3});
    const RateLimit::Clock::time_point start{};
    EXPECT_EQ(limit.take("a", 1, start), 0ms);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.take("a", 1, start + 1h), 0ms);
    EXPECT_EQ(limit.take("a", 1, start + 1h), 1000ms);
}

TEST(RateLimit, GivesBack) {
    RateLimit limit(Rate{1, 1});
    const RateLimit::Clock::time_point start{};
    EXPECT_EQ(limit.take("a", 1, start), 0ms);
    limit.give_back("a", 1);
    limit.give_back("unknown", 1);
    EXPECT_EQ(limit.take("a", 1, start), 0ms);
    EXPECT_GT(limit.take("a", 1, start), 0ms);
}

TEST(RateLimit, WhatIsLargerThanTheBurstLeavesADebt) {
    RateLimit limit(Rate{10, 100});
    const RateLimit::Clock::time_point start{};
    EXPECT_EQ(limit.take("a", 300, start), 0ms);
    EXPECT_EQ(limit.take("a", 10, start), 21s);  // a debt of 200, and 10
}

TEST(RateLimit, ForgetsTheLongestUnused) {
    RateLimit limit(Rate{1, 1}, 2);
    const RateLimit::Clock::time_point start{};
    EXPECT_EQ(limit.take("a", 1, start), 0ms);
    EXPECT_EQ(limit.take("b", 1, start), 0ms);
    EXPECT_GT(limit.take("a", 1, start), 0ms);
    EXPECT_EQ(limit.take("c", 1, start), 0ms);  // b is evicted
    EXPECT_GT(limit.take("a", 1, start), 0ms);
    EXPECT_EQ(limit.take("b", 1, start), 0ms);
}

TEST(Cookies, AreFoundByTheirWholeName) {
    EXPECT_EQ(find_cookie("a=1; lagtrap=secret; b=2", "lagtrap"), "secret");
    EXPECT_EQ(find_cookie("xlagtrap=no; lagtrap2=no", "lagtrap"), "");
    EXPECT_EQ(find_cookie("__Host-lagtrap=no", "lagtrap"), "");
    EXPECT_EQ(find_cookie("", "lagtrap"), "");
}

class AuthenticatorTest : public StoreFixture {
  protected:
    void add_account(const std::string& name, Role role) {
        const auto hash = hash_password(password);
        ASSERT_TRUE(hash.ok());
        ASSERT_TRUE(store_->accounts().add_account({name, role, *hash, now_ns, false}).ok());
    }
    std::string sign_in(const std::string& name) {
        Authenticator authenticator(*store_);
        const auto signed_in = authenticator.sign_in(name, password, "127.0.0.1", now_ns);
        EXPECT_TRUE(signed_in.ok() && signed_in->has_value());
        return signed_in.ok() && *signed_in ? (*signed_in)->secret : "";
    }
    bool alive(const std::string& secret, std::uint64_t at_ns) {
        Authenticator authenticator(*store_);
        const auto found = authenticator.of_session(secret, at_ns);
        EXPECT_TRUE(found.ok());
        return found.ok() && found->has_value();
    }
};

TEST_F(AuthenticatorTest, ASessionKnowsItsAccount) {
    add_account("ann", Role::Uploader);
    Authenticator authenticator(*store_);
    const std::string secret = sign_in("ann");
    const auto found = authenticator.of_session(secret, now_ns + second_ns);
    ASSERT_TRUE(found.ok() && found->has_value());
    EXPECT_EQ((*found)->name, "ann");
    EXPECT_STREQ((*found)->role(), "uploader");
    EXPECT_TRUE((*found)->may(Right::Read) && (*found)->may(Right::Upload));
    EXPECT_FALSE((*found)->may(Right::Administer));
    // The store knows only the digest.
    EXPECT_EQ(store_->accounts().sessions("ann")->front().token_sha256, sha256_of(secret));
    EXPECT_FALSE(alive(sha256_of(secret), now_ns));
    EXPECT_FALSE(alive("", now_ns));
}

TEST_F(AuthenticatorTest, AWeakHashIsReplacedWhenItsPasswordComes) {
    char weak[crypto_pwhash_STRBYTES];
    ASSERT_EQ(crypto_pwhash_str(weak, password.data(), password.size(), 1, 8 << 20), 0);
    ASSERT_TRUE(store_->accounts().add_account({"ann", Role::Reader, weak, now_ns, false}).ok());
    const auto hash = [&] { return (*store_->accounts().find_account("ann"))->password_hash; };
    Authenticator authenticator(*store_);
    EXPECT_FALSE(authenticator.sign_in("ann", "wrong password", "", now_ns)->has_value());
    EXPECT_EQ(hash(), weak);
    EXPECT_NE(sign_in("ann"), "");
    const std::string strong = hash();
    EXPECT_EQ(match_password(strong, password), PasswordMatch::Yes);
    EXPECT_NE(sign_in("ann"), "");
    EXPECT_EQ(hash(), strong);
}

TEST_F(AuthenticatorTest, WrongPasswordsAndUnknownAccountsGetNothing) {
    add_account("ann", Role::Reader);
    Authenticator authenticator(*store_);
    EXPECT_FALSE(authenticator.sign_in("ann", "wrong password", "", now_ns)->has_value());
    EXPECT_FALSE(authenticator.sign_in("bob", password, "", now_ns)->has_value());
    EXPECT_FALSE(authenticator.sign_in("ann", "", "", now_ns)->has_value());
    EXPECT_TRUE(store_->accounts().sessions("ann")->empty());
}

TEST_F(AuthenticatorTest, SessionsEnd) {
    add_account("ann", Role::Reader);
    const std::string idle = sign_in("ann");
    EXPECT_TRUE(alive(idle, now_ns + 12 * hour_ns));  // which also marks it as used
    EXPECT_TRUE(alive(idle, now_ns + 23 * hour_ns));
    EXPECT_FALSE(alive(idle, now_ns + 36 * hour_ns));

    const std::string busy = sign_in("ann");
    for (std::uint64_t hour = 10; hour < 7 * 24; hour += 10)
        EXPECT_TRUE(alive(busy, now_ns + hour * hour_ns)) << hour;
    EXPECT_FALSE(alive(busy, now_ns + 7 * 24 * hour_ns));

    const std::string ended = sign_in("ann");
    Authenticator authenticator(*store_);
    ASSERT_TRUE(authenticator.sign_out(**authenticator.of_session(ended, now_ns)).ok());
    EXPECT_FALSE(alive(ended, now_ns));

    const std::string changed = sign_in("ann");
    auto account = store_->accounts().find_account("ann");
    (*account)->password_hash = *hash_password("another password");
    ASSERT_TRUE(store_->accounts().change_account(**account, {}).ok());
    EXPECT_FALSE(alive(changed, now_ns));
}

TEST_F(AuthenticatorTest, ANewPasswordEndsTheOtherSessions) {
    add_account("ann", Role::Reader);
    const std::string own = sign_in("ann"), elsewhere = sign_in("ann");
    Authenticator authenticator(*store_);
    const Principal principal = **authenticator.of_session(own, now_ns);
    EXPECT_FALSE(*authenticator.change_password(principal, "not the password", "another password"));
    EXPECT_TRUE(alive(elsewhere, now_ns));
    EXPECT_TRUE(*authenticator.change_password(principal, password, "another password"));
    EXPECT_TRUE(alive(own, now_ns));
    EXPECT_FALSE(alive(elsewhere, now_ns));
    EXPECT_FALSE(authenticator.sign_in("ann", password, "", now_ns)->has_value());
    EXPECT_TRUE(authenticator.sign_in("ann", "another password", "", now_ns)->has_value());
}

TEST_F(AuthenticatorTest, ADisabledAccountIsShutOut) {
    add_account("ann", Role::Admin);
    const std::string secret = sign_in("ann");
    auto account = store_->accounts().find_account("ann");
    (*account)->disabled = true;
    ASSERT_TRUE(store_->accounts().change_account(**account, {}).ok());
    EXPECT_FALSE(alive(secret, now_ns));
    Authenticator authenticator(*store_);
    EXPECT_FALSE(authenticator.sign_in("ann", password, "", now_ns)->has_value());
}

TEST_F(AuthenticatorTest, ADisabledAccountIsNobodyThoughASessionIsKept) {
    add_account("ann", Role::Admin);
    const std::string secret = sign_in("ann");
    auto account = store_->accounts().find_account("ann");
    (*account)->disabled = true;
    ASSERT_TRUE(store_->accounts().change_account(**account, sha256_of(secret)).ok());
    EXPECT_EQ(store_->accounts().sessions("ann")->size(), 1U);
    EXPECT_FALSE(alive(secret, now_ns));
}

TEST_F(AuthenticatorTest, WhoeverIsInNoTeamSeesNothingWhereAnyTeamExists) {
    add_account("ann", Role::Admin);
    add_account("rita", Role::Reader);
    Authenticator authenticator(*store_);
    const std::string of_ann = sign_in("ann"), of_rita = sign_in("rita");
    const auto sight_of = [&](const std::string& secret) {
        return (**authenticator.of_session(secret, now_ns)).sight;
    };
    EXPECT_EQ(sight_of(of_rita), nullptr);
    ASSERT_TRUE(store_->teams().set_team({"shop", {"*"}, {"*"}, {}}).ok());
    ASSERT_NE(sight_of(of_rita), nullptr);
    EXPECT_FALSE(sight_of(of_rita)->sees("shop.checkout", "shop.service"));
    ASSERT_TRUE(*store_->teams().join_team("shop", "rita"));
    EXPECT_TRUE(sight_of(of_rita)->sees("shop.checkout", "shop.service"));
    ASSERT_TRUE(*store_->teams().leave_team("shop", "rita"));
    ASSERT_NE(sight_of(of_rita), nullptr);
    EXPECT_FALSE(sight_of(of_rita)->sees("shop.checkout", "shop.service"));
    EXPECT_EQ(sight_of(of_ann), nullptr);
}

TEST_F(AuthenticatorTest, TellsWhatASignInByAProviderChanged) {
    Authenticator authenticator(*store_);
    ASSERT_TRUE(store_->teams().set_team({"shop", {"*"}, {}, {"devs"}}).ok());
    const auto changes_of = [&](Role role, const std::vector<std::string>& groups) {
        std::vector<std::string> list;
        const auto signed_in =
            authenticator.sign_in_known("ann", "issuer ann", role, groups, "", now_ns);
        for (const AccountChange& change : (*signed_in)->changes)
            list.push_back(std::string(change.action) + " " + change.object + ": " + change.detail);
        return list;
    };
    EXPECT_THAT(changes_of(Role::Reader, {"devs"}),
                testing::ElementsAre("add account ann: reader", "join team shop: ann, by groups"));
    EXPECT_THAT(changes_of(Role::Reader, {"devs"}), testing::IsEmpty());
    EXPECT_THAT(changes_of(Role::Admin, {}),
                testing::ElementsAre("change role ann: admin, was reader",
                                     "leave team shop: ann, by groups"));
}

TEST_F(AuthenticatorTest, TokensAreKnownByTheirSecretUntilTheirTimeIsOver) {
    Authenticator authenticator(*store_);
    EXPECT_TRUE(*authenticator.knows_nobody());
    const MachineToken fresh = MachineToken::make();
    Token token;
    token.id = fresh.id;
    token.secret_sha256 = sha256_of(fresh.secret);
    token.name = "rack-7";
    token.scopes = ScopeUpload;
    token.host = "db1";
    token.expires_realtime_ns = now_ns + hour_ns;
    ASSERT_TRUE(store_->tokens().add_token(token).ok());
    EXPECT_FALSE(*authenticator.knows_nobody());

    const auto found = authenticator.of_token(fresh.text(), now_ns);
    ASSERT_TRUE(found.ok() && found->has_value());
    EXPECT_EQ((*found)->name, "rack-7");
    EXPECT_EQ((*found)->host, "db1");
    EXPECT_TRUE((*found)->may(Right::Upload));
    EXPECT_FALSE((*found)->may(Right::Read));
    EXPECT_EQ((*store_->tokens().find_token(fresh.id))->used_realtime_ns, now_ns);

    const MachineToken guessed{fresh.id, random_secret()};
    EXPECT_FALSE(authenticator.of_token(guessed.text(), now_ns)->has_value());
    EXPECT_FALSE(
        authenticator.of_token("ltu_" + fresh.id + "_" + token.secret_sha256.substr(0, 43), now_ns)
            ->has_value());
    EXPECT_FALSE(authenticator.of_token(fresh.text(), now_ns + hour_ns)->has_value());
    ASSERT_TRUE(*store_->tokens().remove_token(fresh.id));
    EXPECT_FALSE(authenticator.of_token(fresh.text(), now_ns)->has_value());
}

}  // namespace
}  // namespace lagtrap::server::accounts_test
