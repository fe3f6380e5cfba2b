#include "server/accounts/authenticator.hpp"

#include <gmock/gmock.h>

#include "core/digest.hpp"
#include "server/accounts/secrets.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::authenticator_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t second_ns = 1'000'000'000ULL;
constexpr std::uint64_t hour_ns = 3600 * second_ns;
constexpr std::uint64_t now_ns = 1'790'000'000ULL * second_ns;

class AuthenticatorSteps : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        authenticator_ = std::make_unique<Authenticator>(*store_);
    }
    void TearDown() override {
        authenticator_.reset();
        StoreFixture::TearDown();
    }
    // Signs in as a provider's person, and returns the session's secret.
    std::string sign_in(const std::string& name, Role role,
                        const std::vector<std::string>& groups = {}) {
        const auto found =
            authenticator_->sign_in_known(name, "issuer " + name, role, groups, "10.1.2.3", now_ns);
        EXPECT_TRUE(found.ok() && found->has_value());
        return found.ok() && *found ? (*found)->session.secret : "";
    }
    Principal principal_of(const std::string& secret, std::uint64_t at_ns = now_ns) {
        const auto found = authenticator_->of_session(secret, at_ns);
        EXPECT_TRUE(found.ok() && found->has_value());
        return found.ok() && *found ? **found : Principal{};
    }
    Session session_of(const std::string& secret) {
        const auto found = store_->accounts().find_session(sha256_of(secret));
        EXPECT_TRUE(found.ok() && found->has_value());
        return found.ok() && *found ? **found : Session{};
    }

    std::unique_ptr<Authenticator> authenticator_;
};

TEST_F(AuthenticatorSteps, ASessionIsKeptWithItsAddressAndEnd) {
    const std::string secret = sign_in("ann", Role::Uploader);
    const Session session = session_of(secret);
    EXPECT_EQ(session.account, "ann");
    EXPECT_EQ(session.address, "10.1.2.3");
    EXPECT_EQ(session.created_realtime_ns, now_ns);
    EXPECT_EQ(session.used_realtime_ns, now_ns);
    EXPECT_EQ(session.expires_realtime_ns, now_ns + 7 * 24 * hour_ns);
    const Principal principal = principal_of(secret);
    EXPECT_EQ(principal.kind, Principal::Kind::Session);
    EXPECT_EQ(principal.name, "ann");
    EXPECT_EQ(principal.session_digest, sha256_of(secret));
    EXPECT_EQ(principal.expires_ns, now_ns + 7 * 24 * hour_ns);
    EXPECT_FALSE(principal.has_password) << "it signs in at its provider";
    EXPECT_EQ(principal.sight, nullptr);
    EXPECT_THAT(principal.teams, IsEmpty());
}

TEST_F(AuthenticatorSteps, AnAccountMayDoWhatItsRoleSays) {
    struct Case {
        Role role;
        bool read, upload, administer;
    };
    for (const Case& one :
         {Case{Role::Reader, true, false, false}, Case{Role::Uploader, true, true, false},
          Case{Role::Admin, true, true, true}}) {
        const Principal principal = principal_of(sign_in("ann", one.role));
        EXPECT_EQ(principal.may_read, one.read);
        EXPECT_EQ(principal.may_upload, one.upload);
        EXPECT_EQ(principal.may_administer, one.administer);
    }
}

TEST_F(AuthenticatorSteps, UseIsNotedOnceAMinute) {
    const std::string secret = sign_in("ann", Role::Reader);
    static_cast<void>(principal_of(secret, now_ns + 60 * second_ns));
    EXPECT_EQ(session_of(secret).used_realtime_ns, now_ns);
    static_cast<void>(principal_of(secret, now_ns + 60 * second_ns + 1));
    EXPECT_EQ(session_of(secret).used_realtime_ns, now_ns + 60 * second_ns + 1);
}

TEST_F(AuthenticatorSteps, ASessionEndsAfterTwelveIdleHoursAndIsRemoved) {
    const std::string secret = sign_in("ann", Role::Reader);
    static_cast<void>(principal_of(secret, now_ns + 12 * hour_ns));
    EXPECT_FALSE(authenticator_->of_session(secret, now_ns + 24 * hour_ns + 1)->has_value());
    EXPECT_THAT(*store_->accounts().sessions("ann"), IsEmpty());
}

TEST_F(AuthenticatorSteps, TeamsOfAnAccountAddUp) {
    ASSERT_TRUE(store_->teams().set_team({"shop", {"shop.*"}, {"shop.service"}, {"devs"}}).ok());
    ASSERT_TRUE(store_->teams().set_team({"desk", {"print"}, {"cups.service"}, {"devs"}}).ok());
    ASSERT_TRUE(store_->teams().set_team({"other", {"*"}, {}, {"others"}}).ok());
    const Principal principal = principal_of(sign_in("ann", Role::Uploader, {"devs"}));
    EXPECT_THAT(principal.teams, ElementsAre("desk", "shop"));
    ASSERT_NE(principal.sight, nullptr);
    EXPECT_THAT(principal.sight->events, ElementsAre("print", "shop.*"));
    EXPECT_THAT(principal.sight->units, ElementsAre("cups.service", "shop.service"));
}

TEST_F(AuthenticatorSteps, ANameThatIsSomebodyElsesIsNotTakenOver) {
    ASSERT_TRUE(store_->accounts().add_account({"ann", Role::Reader, "hash", now_ns, false}).ok());
    const auto taken =
        authenticator_->sign_in_known("ann", "issuer ann", Role::Admin, {}, "", now_ns);
    ASSERT_TRUE(taken.ok());
    EXPECT_FALSE(taken->has_value());
    EXPECT_EQ((*store_->accounts().find_account("ann"))->role, Role::Reader);
    EXPECT_THAT(*store_->accounts().sessions("ann"), IsEmpty());
    // The same person, whom an admin has shut out.
    sign_in("bob", Role::Reader);
    auto bob = **store_->accounts().find_account("bob");
    EXPECT_EQ(bob.subject, "issuer bob");
    EXPECT_EQ(bob.password_hash, "");
    EXPECT_EQ(bob.created_realtime_ns, now_ns);
    bob.disabled = true;
    ASSERT_TRUE(store_->accounts().change_account(bob, {}).value());
    EXPECT_FALSE(authenticator_->sign_in_known("bob", "issuer bob", Role::Reader, {}, "", now_ns)
                     ->has_value());
}

TEST_F(AuthenticatorSteps, ATokenMayDoWhatItsScopesSay) {
    const auto principal_with = [&](std::uint32_t scopes) {
        const MachineToken made = MachineToken::make();
        Token token;
        token.id = made.id;
        token.secret_sha256 = sha256_of(made.secret);
        token.name = "rack";
        token.scopes = scopes;
        EXPECT_TRUE(store_->tokens().add_token(token).ok());
        const auto found = authenticator_->of_token(made.text(), now_ns);
        EXPECT_TRUE(found.ok() && found->has_value());
        return found.ok() && *found ? **found : Principal{};
    };
    const auto text = [](const Principal& principal) {
        return std::string(principal.may_read ? "r" : "") + (principal.may_upload ? "u" : "") +
               (principal.may_administer ? "a" : "");
    };
    EXPECT_EQ(text(principal_with(ScopeRead)), "r");
    EXPECT_EQ(text(principal_with(ScopeUpload)), "u");
    EXPECT_EQ(text(principal_with(ScopeAdmin)), "a");
    const Principal both = principal_with(ScopeRead | ScopeUpload);
    EXPECT_EQ(text(both), "ru");
    EXPECT_EQ(both.kind, Principal::Kind::Token);
    EXPECT_EQ(both.host, "");
}

TEST_F(AuthenticatorSteps, UseOfATokenIsNotedOnceAMinute) {
    const MachineToken made = MachineToken::make();
    Token token;
    token.id = made.id;
    token.secret_sha256 = sha256_of(made.secret);
    token.name = "rack";
    token.scopes = ScopeRead;
    ASSERT_TRUE(store_->tokens().add_token(token).ok());
    const auto used_after = [&](std::uint64_t at_ns) {
        EXPECT_TRUE(authenticator_->of_token(made.text(), at_ns)->has_value());
        return (*store_->tokens().find_token(made.id))->used_realtime_ns;
    };
    EXPECT_EQ(used_after(now_ns), now_ns);
    EXPECT_EQ(used_after(now_ns + 60 * second_ns), now_ns);
    EXPECT_EQ(used_after(now_ns + 60 * second_ns + 1), now_ns + 60 * second_ns + 1);
}

TEST_F(AuthenticatorSteps, SigningOutEndsThatSessionAlone) {
    const std::string first = sign_in("ann", Role::Reader), second = sign_in("ann", Role::Reader);
    ASSERT_TRUE(authenticator_->sign_out(principal_of(first)).ok());
    EXPECT_FALSE(authenticator_->of_session(first, now_ns)->has_value());
    EXPECT_TRUE(authenticator_->of_session(second, now_ns)->has_value());
    EXPECT_TRUE(authenticator_->sign_out(Principal{}).ok()) << "nobody is signed in";
}

TEST_F(AuthenticatorSteps, APasswordThatIsTooLongIsNobodys) {
    EXPECT_FALSE(authenticator_->sign_in("", "correct horse battery", "", now_ns)->has_value());
    const auto too_long = authenticator_->sign_in("ann", std::string(5000, 'x'), "", now_ns);
    ASSERT_TRUE(too_long.ok());
    EXPECT_FALSE(too_long->has_value());
}

TEST_F(AuthenticatorSteps, AnAccountOrATokenIsSomebody) {
    EXPECT_TRUE(*authenticator_->knows_nobody());
    sign_in("ann", Role::Reader);
    EXPECT_FALSE(*authenticator_->knows_nobody());
}

TEST(FindCookie, TakesTheValueOfTheWholeName) {
    EXPECT_EQ(find_cookie("a=1;b=2", "b"), "2");
    EXPECT_EQ(find_cookie("a=1;   b=2=3", "b"), "2=3");
    EXPECT_EQ(find_cookie("b; b=2", "b"), "2");
    EXPECT_EQ(find_cookie("b=", "b"), "");
    EXPECT_EQ(find_cookie("b=1; b=2", "b"), "1");
}

}  // namespace
}  // namespace lagtrap::server::authenticator_test
