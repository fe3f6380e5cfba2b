#include "server/accounts/id_token.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/accounts/oidc_settings.hpp"
#include "tests/unit/server/token_signer.hpp"

namespace lagtrap::server::id_token_test {
namespace {

namespace json = boost::json;
using test::Signer;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t now_s = 1'800'000'000;

json::object claims_with(std::initializer_list<std::pair<const char*, json::value>> changes = {}) {
    json::object claims = {{"iss", "https://login.example"},
                           {"aud", "lagtrap"},
                           {"sub", "17"},
                           {"exp", now_s + 300},
                           {"iat", now_s},
                           {"nonce", "n"},
                           {"preferred_username", "ann"},
                           {"groups", {"staff", 7, "admins"}}};
    for (const auto& [name, value] : changes) claims[name] = value;
    return claims;
}

std::string set_of(std::initializer_list<const Signer*> signers) {
    std::string text;
    for (const Signer* signer : signers) text += (text.empty() ? "" : ",") + signer->public_json();
    return "{\"keys\":[" + text + "]}";
}

Result<IdTokenFacts> check(const std::string& token, const std::string& key_set) {
    return check_id_token(
        token, read_key_set(key_set).value(),
        {"https://login.example", "lagtrap", "n", "preferred_username", "groups", now_s});
}

TEST(IdToken, SaysWhoSignedIn) {
    for (const char* algorithm : {"RS256", "PS384", "ES256"}) {
        const Signer signer("k1", algorithm), other("k2");
        const auto facts = check(signer.sign(claims_with()), set_of({&other, &signer}));
        ASSERT_TRUE(facts.ok()) << algorithm << ": " << facts.error().message;
        EXPECT_EQ(facts->subject, "17");
        EXPECT_EQ(facts->name, "ann");
        EXPECT_THAT(facts->groups, ElementsAre("staff", "admins"));
    }
    const Signer nameless("");
    EXPECT_TRUE(
        check(nameless.sign(claims_with({{"aud", {"lagtrap"}}})), set_of({&nameless})).ok());
    EXPECT_TRUE(check(nameless.sign(claims_with({{"aud", {"lagtrap", "x"}}, {"azp", "lagtrap"}})),
                      set_of({&nameless}))
                    .ok());
}

TEST(IdToken, ClocksMayDifferByAMinute) {
    const Signer signer("k");
    const auto is_taken = [&](std::initializer_list<std::pair<const char*, json::value>> changes) {
        return check(signer.sign(claims_with(changes)), set_of({&signer})).ok();
    };
    EXPECT_TRUE(is_taken({{"nbf", now_s + 60}}));
    EXPECT_FALSE(is_taken({{"nbf", now_s + 61}}));
    EXPECT_TRUE(is_taken({{"exp", now_s - 59}}));
    EXPECT_FALSE(is_taken({{"exp", now_s - 60}}));
    EXPECT_TRUE(is_taken({{"iat", now_s - 86'400}}));
    EXPECT_FALSE(is_taken({{"iat", nullptr}}));
}

TEST(IdToken, GroupsMayBeOneOrMany) {
    const Signer signer("k");
    const auto groups = [&](const json::value& claim) {
        const auto facts = check(signer.sign(claims_with({{"groups", claim}})), set_of({&signer}));
        return facts ? facts->groups : std::vector<std::string>{"refused"};
    };
    EXPECT_THAT(groups("staff"), ElementsAre("staff"));
    EXPECT_THAT(groups(nullptr), ElementsAre());
    EXPECT_THAT(groups(7), ElementsAre());
}

TEST(IdToken, EachWrongClaimIsRefused) {
    const Signer signer("k");
    const std::string keys = set_of({&signer});
    for (const auto& [name, value, expected] :
         std::initializer_list<std::tuple<const char*, json::value, const char*>>{
             {"iss", "https://evil.example", "is by https://evil.example"},
             {"iss", nullptr, "is by"},
             {"aud", "another", "for another client"},
             {"aud", {"lagtrap", "another"}, "for another client"},
             {"aud", nullptr, "for another client"},
             {"azp", "another", "for another client"},
             {"exp", now_s - 60, "has expired"},
             {"exp", nullptr, "lacks its times"},
             {"exp", "1900000000", "lacks its times"},
             {"exp", -1, "lacks its times"},
             {"iat", now_s + 61, "of the future"},
             {"nbf", now_s + 61, "not valid yet"},
             {"nonce", "m", "nonce"},
             {"nonce", nullptr, "nonce"},
             {"sub", "", "sub"},
             {"sub", 7, "sub"}}) {
        const auto facts = check(signer.sign(claims_with({{name, value}})), keys);
        ASSERT_FALSE(facts.ok()) << name << " " << value;
        EXPECT_EQ(facts.error().kind, ErrorKind::Denied);
        EXPECT_THAT(facts.error().message, HasSubstr(expected));
    }
    EXPECT_TRUE(
        check(signer.sign(claims_with({{"exp", now_s - 59}, {"iat", now_s + 60}})), keys).ok());
}

TEST(IdToken, SignaturesAreChecked) {
    const Signer signer("k"), impostor("k"), elliptic("k", "ES256"), unknown("new");
    const std::string keys = set_of({&signer});
    EXPECT_THAT(check(impostor.sign(claims_with()), keys).error().message,
                HasSubstr("wrong signature"));
    EXPECT_EQ(check(unknown.sign(claims_with()), keys).error().kind, ErrorKind::NotFound);
    EXPECT_EQ(check(elliptic.sign(claims_with()), keys).error().kind, ErrorKind::NotFound);
    std::string changed = signer.sign(claims_with());
    changed[changed.find('.') + 5] = changed[changed.find('.') + 5] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(check(changed, keys).ok());
    // Signed by nobody, and with something public: the public key as a shared secret.
    const Signer symmetric("k", "HS256");
    EXPECT_THAT(check(symmetric.sign(claims_with()), keys).error().message,
                HasSubstr("signed by \"HS256\""));
    const std::string unsigned_token =
        "eyJhbGciOiJub25lIn0." + changed.substr(changed.find('.') + 1, 40) + ".";
    EXPECT_FALSE(check(unsigned_token, keys).ok());
    for (const char* broken : {"", ".", "..", "a.b.c", "{}", "eyJhbGciOiJSUzI1NiJ9..x"})
        EXPECT_FALSE(check(broken, keys).ok()) << broken;
    EXPECT_FALSE(check(std::string(70'000, 'a'), keys).ok());
}

TEST(IdToken, KeysThatDoNotSignAreLeftOut) {
    const Signer good("good"), weak("weak", "RS256", 1024), secret("secret", "HS256");
    std::string text = set_of({&weak, &secret, &good});
    EXPECT_THAT(read_key_set(text).value(), ElementsAre(testing::Field(&SigningKey::id, "good")));
    text.replace(text.rfind("\"kid\""), 0, "\"use\":\"enc\",");
    EXPECT_TRUE(read_key_set(text).value().empty());
    std::string many = "{\"keys\":[" + good.public_json();
    for (int i = 0; i < 100; ++i) many += "," + good.public_json();
    EXPECT_EQ(read_key_set(many + "]}").value().size(), 64U);
    for (const char* broken : {"", "[]", "{}", "{\"keys\":7}", "{\"keys\":[7,[],\"x\",{}]"})
        EXPECT_FALSE(read_key_set(broken).ok()) << broken;
}

TEST(OidcSettings, TheWidestRoleOfTheGroupsCounts) {
    OidcSettings settings;
    settings.roles = {
        {"staff", Role::Reader}, {"admins", Role::Admin}, {"builders", Role::Uploader}};
    EXPECT_EQ(settings.role_of({"staff", "admins"}), Role::Admin);
    EXPECT_EQ(settings.role_of({"builders", "staff"}), Role::Uploader);
    EXPECT_EQ(settings.role_of({"others"}), std::nullopt);
    settings.roles.push_back({"*", Role::Reader});
    EXPECT_EQ(settings.role_of({}), Role::Reader);
}

TEST(OidcSettings, SecretsGoToSafeAddressesAlone) {
    for (const char* safe :
         {"https://login.example/x", "http://localhost:8080", "http://127.0.0.1/x"})
        EXPECT_TRUE(is_safe_address(safe)) << safe;
    for (const char* not_safe :
         {"", "http://login.example", "ftp://localhost", "http://localhost.example",
          "http://127.0.0.1@evil.example/", "http://localhost:x@evil.example/", "javascript:x"})
        EXPECT_FALSE(is_safe_address(not_safe)) << not_safe;
}

}  // namespace
}  // namespace lagtrap::server::id_token_test
