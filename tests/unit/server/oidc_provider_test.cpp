#include "server/accounts/oidc_provider.hpp"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/oidc_fixture.hpp"

namespace lagtrap::server::oidc_provider_test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* secret = "a-secret-of-the-browser";
constexpr const char* back = "https://lagtrap.example/api/v1/oidc?x=~1";

class OidcProviderTest : public testing::Test, public test::OidcFixture {
  protected:
    Result<std::string> address() { return OidcProvider(settings()).sign_in_address(secret, back); }
    Result<OidcPerson> person(const OidcSettings& settings) {
        return OidcProvider(settings).person_of("the code", secret, back,
                                                ClockSnapshot::take().realtime_ns);
    }
    Result<OidcPerson> person() { return person(settings()); }
    std::string metadata_url() { return fake.url() + metadata_path; }
};

TEST_F(OidcProviderTest, BrowsersGoToItsAddressWithWhatIsDerivedFromTheirSecret) {
    OidcProvider provider(settings());
    const std::string expected =
        "response_type=code&client_id=lag%20trap"
        "&redirect_uri=https%3A%2F%2Flagtrap.example%2Fapi%2Fv1%2Foidc%3Fx%3D~1"
        "&scope=openid%20profile&state=" +
        sha256_base64url(std::string("state ") + secret) +
        "&nonce=" + sha256_base64url(std::string("nonce ") + secret) +
        "&code_challenge=" + sha256_base64url(sha256_base64url(std::string("verifier ") + secret)) +
        "&code_challenge_method=S256";
    EXPECT_EQ(provider.sign_in_address(secret, back).value(), fake.url() + "/begin?" + expected);
    EXPECT_EQ(OidcProvider::state_of(secret), sha256_base64url(std::string("state ") + secret));
    EXPECT_EQ(provider.sign_in_address("other", back).value().find(expected), std::string::npos);
    EXPECT_THAT(fake.requests(), SizeIs(1)) << "the metadata are kept";
    EXPECT_THAT(fake.requests()[0], StartsWith(std::string("GET ") + metadata_path + " "));
    describe_self({{"authorization_endpoint", fake.url() + "/begin?tenant=1"}});
    EXPECT_EQ(address().value(), fake.url() + "/begin?tenant=1&" + expected);
}

TEST_F(OidcProviderTest, ASlashAtTheEndOfTheIssuerIsNotDoubled) {
    OidcSettings with_slash = settings();
    with_slash.issuer += "/";
    describe_self({{"issuer", with_slash.issuer}});
    OidcProvider provider(with_slash);
    const auto address = provider.sign_in_address(secret, back);
    EXPECT_TRUE(address.ok()) << address.error().message;
    EXPECT_EQ(provider.settings().issuer, with_slash.issuer);
}

TEST_F(OidcProviderTest, AnotherIssuerIsNamed) {
    describe_self({{"issuer", "https://other.example"}});
    const auto wrong = address();
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().kind, ErrorKind::Invalid);
    EXPECT_EQ(wrong.error().message,
              "the provider calls itself https://other.example; write it so behind \"issuer\", "
              "instead of " +
                  fake.url());
}

TEST_F(OidcProviderTest, EachOfItsAddressesMustBeSafe) {
    for (const char* name : {"authorization_endpoint", "token_endpoint", "jwks_uri"})
        for (const char* unsafe : {"http://login.example/x", "", "https://login.example/\x01"}) {
            describe_self({{name, unsafe}});
            const auto wrong = address();
            ASSERT_FALSE(wrong.ok()) << name << ' ' << unsafe;
            EXPECT_EQ(wrong.error().kind, ErrorKind::Invalid);
            EXPECT_THAT(wrong.error().message,
                        StartsWith(metadata_url() + ": expected addresses of https, found \""));
        }
}

TEST_F(OidcProviderTest, WhatItAnswersInsteadIsQuoted) {
    struct Case {
        std::string status, body;
        ErrorKind kind;
        std::string said;
    };
    const std::string long_text(300, 'x');
    for (const Case& one :
         {Case{"404 Not Found", "no\x1b", ErrorKind::Denied, "404: no\\x1b"},
          Case{"400 Bad", "", ErrorKind::Denied, "400"},
          Case{"499 Odd", "", ErrorKind::Denied, "499"},
          Case{"399 Odd", "", ErrorKind::System, "399"},
          Case{"500 Broken", long_text, ErrorKind::System, "500: " + std::string(200, 'x')},
          Case{"200 OK", "[]", ErrorKind::System, "200: []"},
          Case{"200 OK", "{", ErrorKind::System, "200: {"},
          Case{"201 Created", "{}", ErrorKind::System, "201: {}"}}) {
        fake.answer(metadata_path, one.status, one.body);
        const auto wrong = address();
        ASSERT_FALSE(wrong.ok()) << one.status;
        EXPECT_EQ(wrong.error().kind, one.kind) << one.status;
        EXPECT_EQ(wrong.error().message, metadata_url() + " answered " + one.said);
    }
}

TEST_F(OidcProviderTest, AnAnswerHasAMebibyteAtMost) {
    std::string facts = "{\"issuer\":\"" + fake.url() + "\",\"authorization_endpoint\":\"" +
                        fake.url() + "/begin\",\"token_endpoint\":\"" + fake.url() +
                        "/token\",\"jwks_uri\":\"" + fake.url() + "/keys\"}";
    facts.insert(0, (1 << 20) - facts.size(), ' ');
    fake.answer(metadata_path, "200 OK", facts);
    EXPECT_TRUE(address().ok());
    fake.answer(metadata_path, "200 OK", " " + facts);
    const auto wrong = address();
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().kind, ErrorKind::System);
    EXPECT_THAT(wrong.error().message, StartsWith(metadata_url() + ": "));
}

TEST_F(OidcProviderTest, SaysWhoSignedIn) {
    vouch(secret);
    const auto found = person();
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->subject, fake.url() + " 17");
    EXPECT_EQ(found->name, "ann");
    EXPECT_EQ(found->role, Role::Admin);
    EXPECT_THAT(found->groups, ElementsAre("staff", "admins"));
    const auto asked = fake.requests_for("/token");
    ASSERT_THAT(asked, SizeIs(1));
    EXPECT_THAT(asked[0], StartsWith("POST /token HTTP/1.1\r\n"));
    // "lag%20trap:sec%3Aret"
    EXPECT_THAT(asked[0], HasSubstr("\r\nAuthorization: Basic bGFnJTIwdHJhcDpzZWMlM0FyZXQ=\r\n"));
    EXPECT_THAT(asked[0], HasSubstr("\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
    EXPECT_THAT(asked[0],
                EndsWith("\r\n\r\ngrant_type=authorization_code&code=the%20code"
                         "&redirect_uri=https%3A%2F%2Flagtrap.example%2Fapi%2Fv1%2Foidc%3Fx%3D~1"
                         "&code_verifier=" +
                         sha256_base64url(std::string("verifier ") + secret)));
}

TEST_F(OidcProviderTest, TheSecretGoesWhereTheProviderTakesIt) {
    vouch(secret);
    const auto asked_with = [&](const json::value& methods, const std::string& client_secret) {
        describe_self({{"token_endpoint_auth_methods_supported", methods}});
        OidcSettings chosen = settings();
        chosen.client_secret = client_secret;
        EXPECT_TRUE(person(chosen).ok());
        return fake.requests_for("/token").back();
    };
    const std::string in_body = "&client_id=lag%20trap&client_secret=sec%3Aret";
    EXPECT_THAT(asked_with({"client_secret_post"}, "sec:ret"), EndsWith(in_body));
    EXPECT_THAT(asked_with({"client_secret_post"}, "sec:ret"), Not(HasSubstr("Authorization")));
    for (const json::value& methods :
         {json::value{"client_secret_post", "client_secret_basic"}, json::value{"private_key_jwt"},
          json::value(nullptr), json::value("client_secret_post"), json::value{7}}) {
        const std::string asked = asked_with(methods, "sec:ret");
        EXPECT_THAT(asked, HasSubstr("\r\nAuthorization: Basic ")) << methods;
        EXPECT_THAT(asked, Not(HasSubstr("client_id"))) << methods;
    }
    for (const json::value& methods : {json::value{"client_secret_post"}, json::value(nullptr)}) {
        const std::string asked = asked_with(methods, "");
        EXPECT_THAT(asked, EndsWith("&client_id=lag%20trap")) << methods;
        EXPECT_THAT(asked, Not(HasSubstr("Authorization"))) << methods;
    }
}

TEST_F(OidcProviderTest, MetadataAndKeysAreFetchedOnce) {
    vouch(secret);
    OidcProvider provider(settings());
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(
            provider.person_of("code", secret, back, ClockSnapshot::take().realtime_ns).ok());
    EXPECT_THAT(fake.requests_for("/keys"), SizeIs(1));
    EXPECT_THAT(fake.requests_for(metadata_path), SizeIs(1));
    EXPECT_THAT(fake.requests_for("/token"), SizeIs(3));
}

TEST_F(OidcProviderTest, AnUnknownKeyRefreshesTheKeysOnceAMinuteAtMost) {
    vouch(secret);
    fake.answer("/keys", "200 OK", "{\"keys\":[]}");
    const auto unknown = person();
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().kind, ErrorKind::NotFound);
    EXPECT_THAT(fake.requests_for("/keys"), SizeIs(1)) << "they came a moment ago";
    constexpr std::uint64_t second_ns = 1'000'000'000;
    using Freshness = OidcProvider::Freshness;
    EXPECT_TRUE(OidcProvider::must_fetch(0, 1, Freshness::Kept));
    EXPECT_TRUE(OidcProvider::must_fetch(0, 1, Freshness::New));
    EXPECT_FALSE(OidcProvider::must_fetch(7, 7 + 3600 * second_ns - 1, Freshness::Kept));
    EXPECT_TRUE(OidcProvider::must_fetch(7, 7 + 3600 * second_ns, Freshness::Kept));
    EXPECT_FALSE(OidcProvider::must_fetch(7, 7 + 60 * second_ns - 1, Freshness::New));
    EXPECT_TRUE(OidcProvider::must_fetch(7, 7 + 60 * second_ns, Freshness::New));
}

TEST_F(OidcProviderTest, WhatItRefusesIsDeniedAndWhatFailsIsNot) {
    const auto expect = [&](ErrorKind kind, const std::string& message) {
        const auto wrong = person();
        ASSERT_FALSE(wrong.ok()) << message;
        EXPECT_EQ(wrong.error().kind, kind) << message;
        EXPECT_THAT(wrong.error().message, HasSubstr(message));
    };
    fake.answer("/token", "400 Bad Request", R"({"error":"invalid_grant"})");
    expect(ErrorKind::Denied, fake.url() + R"(/token answered 400: {"error":"invalid_grant"})");
    fake.answer("/token", "503 Busy", "");
    expect(ErrorKind::System, fake.url() + "/token answered 503");
    fake.answer("/token", "200 OK", "{}");
    expect(ErrorKind::Denied, "");
    vouch(secret, {{"preferred_username", nullptr}});
    expect(ErrorKind::Denied,
           "the ID token has no \"preferred_username\"; see name_claim and scopes");
    vouch("another secret");
    expect(ErrorKind::Denied, "nonce");
    vouch(secret, {{"iss", "https://evil.example"}});
    expect(ErrorKind::Denied, "is by https://evil.example");
    vouch(secret, {{"aud", "other"}});
    expect(ErrorKind::Denied, "for another client");
    vouch(secret);
    fake.answer("/keys", "404 Not Found", "{\"keys\":[]}");
    expect(ErrorKind::System, fake.url() + "/keys answered 404");
}

TEST_F(OidcProviderTest, NamesAndGroupsAreInTheClaimsOfTheSettings) {
    vouch(secret, {{"mail", "ann@example"}, {"teams", {"staff"}}});
    OidcSettings chosen = settings();
    chosen.name_claim = "mail";
    chosen.groups_claim = "teams";
    const auto found = person(chosen);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->name, "ann@example");
    EXPECT_EQ(found->role, Role::Reader);
    chosen.roles = {{"others", Role::Admin}};
    EXPECT_EQ(person(chosen)->role, std::nullopt);
}

TEST_F(OidcProviderTest, TokensAreCheckedByTheTimeGiven) {
    vouch(secret);
    const auto late =
        OidcProvider(settings())
            .person_of("code", secret, back,
                       ClockSnapshot::take().realtime_ns + 3600ULL * 1'000'000'000ULL);
    ASSERT_FALSE(late.ok());
    EXPECT_THAT(late.error().message, HasSubstr("has expired"));
}

TEST(OidcProviderGone, CannotBeReached) {
    OidcSettings settings;
    {
        const test::FakeProvider fake;
        settings.issuer = fake.url();
    }
    const auto wrong = OidcProvider(settings).sign_in_address(secret, back);
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().kind, ErrorKind::System);
    EXPECT_THAT(wrong.error().message,
                StartsWith(settings.issuer + "/.well-known/openid-configuration: "));
}

}  // namespace
}  // namespace lagtrap::server::oidc_provider_test
