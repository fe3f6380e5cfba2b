#include "server/api/account_routes.hpp"

#include <optional>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "server/accounts/passwords.hpp"
#include "server/accounts/sender_network.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::account_routes_test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* password = "correct horse battery";

std::string message_of(const Reply& reply) {
    return json::value_to<std::string>(json::parse(reply.body).at("error").at("message"));
}

class AccountRoutes : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        audit_.emplace(store_->audit(), [](const std::string&) {});
        authenticator_.emplace(*store_);
        principal_.kind = Principal::Kind::Session;
        principal_.name = "root";
        principal_.may_administer = true;
    }
    void put_account(const std::string& name, Role role, bool disabled = false,
                     const std::string& hash = "x") {
        ASSERT_EQ(store_->accounts().add_account({name, role, hash, 5, disabled}).value(),
                  AddOutcome::New);
    }
    void put_token(const std::string& id, const std::string& name, std::uint64_t created_ns) {
        Token token;
        token.id = id;
        token.name = name;
        token.scopes = ScopeUpload;
        token.created_realtime_ns = created_ns;
        ASSERT_TRUE(store_->tokens().add_token(token).ok());
    }
    static Request request_of(const std::string& body) {
        Request request;
        request.body = body;
        request.sender = "10.0.0.7";
        request.secure = true;
        return request;
    }
    static Route route_of(std::vector<std::string> arguments,
                          std::vector<std::pair<std::string, std::string>> query = {}) {
        Route route;
        route.arguments = std::move(arguments);
        route.query = std::move(query);
        return route;
    }
    Reply add(const std::string& body) {
        return add_account(store_->accounts(), *audit_, principal_, request_of(body));
    }
    Reply remove(const std::string& name) {
        return delete_account(store_->accounts(), *audit_, principal_, route_of({name}),
                              request_of(""));
    }
    Reply make_token(const std::string& body) {
        return add_token(store_->tokens(), *audit_, principal_, request_of(body));
    }
    SignInParts parts() { return {*authenticator_, store_->accounts(), *audit_, limits_, cookie_}; }
    // The newest entry of the audit: who, action, object and detail.
    std::string newest_note() {
        const auto entries = store_->audit().list(1, {}, AuditPart::All).value();
        if (entries.empty()) return {};
        return entries[0].who + "|" + entries[0].action + "|" + entries[0].object + "|" +
               entries[0].detail;
    }

    std::optional<Audit> audit_;
    std::optional<Authenticator> authenticator_;
    SignInLimits limits_;
    SessionCookie cookie_{BasePath()};
    Principal principal_;
};

TEST_F(AccountRoutes, ASessionSaysWhatItsPersonMay) {
    principal_.teams = {"shop", "search"};
    principal_.expires_ns = 9;
    principal_.has_password = true;
    EXPECT_EQ(get_session(principal_, store_->everything().edges()).body,
              R"({"account":"root","role":"admin","has_password":true,)"
              R"("teams":["shop","search"],"sees_everything":true,"who_delays_whom":false,)"
              R"("expires_ns":"9"})"
              "\n");
    principal_.expires_ns = 0;
    principal_.sight = std::make_shared<Sight>();
    const json::value answer =
        json::parse(get_session(principal_, store_->everything().edges()).body);
    EXPECT_TRUE(answer.at("expires_ns").is_null());
    EXPECT_EQ(answer.at("sees_everything"), json::value(false));
}

TEST_F(AccountRoutes, ASessionSaysWhetherOneRequestDelayedAnother) {
    BundleDelay delay;
    delay.number = 1;
    delay.event = "open";
    delay.begin_realtime_ns = 20'003ULL * 86'400 * 1'000'000'000;
    delay.edges.emplace_back().event = "report";
    BundleRow row;
    row.digest = std::string(64, 'a');
    ASSERT_TRUE(store_->inventory().add(row, {"parse", row.digest, 1}).ok());
    ASSERT_TRUE(store_->inventory().set_contents(row.digest, {}, {}, {delay}).ok());
    EXPECT_EQ(json::parse(get_session(principal_, store_->everything().edges()).body)
                  .at("who_delays_whom"),
              json::value(true));
}

TEST_F(AccountRoutes, PasswordsAreTakenOverHttpsOrFromThisMachine) {
    Request request = request_of(R"({"account":"ann","password":"no"})");
    request.secure = false;
    EXPECT_EQ(sign_in(parts(), "s", request).status, 403U);
    EXPECT_EQ(change_own_password(parts(), "s", principal_, request).status, 403U);
    EXPECT_EQ(message_of(sign_in(parts(), "s", request)), "passwords are taken over HTTPS alone");
    request.from_loopback = true;
    request.body = "{}";
    EXPECT_EQ(sign_in(parts(), "s", request).status, 400U);
    EXPECT_EQ(change_own_password(parts(), "s", principal_, request).status, 400U);
    request.body = R"({"account":")" + std::string(65, 'a') + R"(","password":"x"})";
    EXPECT_EQ(message_of(sign_in(parts(), "s", request)), "\"account\": expected at most 64 bytes");
}

TEST_F(AccountRoutes, SigningInGivesACookieAndIsNoted) {
    put_account("ann", Role::Reader, false, hash_password(password).value());
    const Request right =
        request_of(R"({"account":"ann","password":")" + std::string(password) + "\"}");
    const Reply signed_in = sign_in(parts(), "net", right);
    ASSERT_EQ(signed_in.status, 204U) << signed_in.body;
    ASSERT_EQ(signed_in.headers.size(), 1U);
    EXPECT_EQ(signed_in.headers[0].first, "Set-Cookie");
    EXPECT_THAT(signed_in.headers[0].second, testing::StartsWith("__Host-lagtrap="));
    EXPECT_THAT(signed_in.headers[0].second, HasSubstr("Max-Age=604800"));
    EXPECT_EQ(newest_note(), "ann|sign in||from 10.0.0.7");
    const Reply wrong =
        sign_in(parts(), "net", request_of(R"({"account":"ann","password":"wrong"})"));
    EXPECT_EQ(wrong.status, 401U);
    EXPECT_EQ(newest_note(), "|refuse sign-in|ann|account and password do not fit, from 10.0.0.7");
    // What nobody is called may be a password.
    EXPECT_EQ(sign_in(parts(), "net", request_of(R"({"account":"hunter2","password":"x"})")).status,
              401U);
    EXPECT_EQ(newest_note(),
              "|refuse sign-in|an unknown account|account and password do not fit, from 10.0.0.7");
    const json::value accounts = json::parse(list_accounts(store_->accounts()).body);
    EXPECT_TRUE(accounts.at("accounts").at(0).at("last_sign_in_ns").is_string());
    // Ten attempts in a row; none of them reaches the password.
    for (int i = 0; i < 10; ++i)
        (void)limits_.take(
            "bob", "net", [] { return false; }, SignInLimits::Clock::now());
    const Reply waits = sign_in(parts(), "net", request_of(R"({"account":"bob","password":"x"})"));
    EXPECT_EQ(waits.status, 429U);
    EXPECT_EQ(newest_note(), "|refuse sign-in||too many attempts, from 10.0.0.7");
}

TEST_F(AccountRoutes, OwnPasswordsAreChangedWithTheOldOne) {
    put_account("root", Role::Admin, false, hash_password(password).value());
    put_account("sso", Role::Reader, false, "");
    const auto change = [&](const std::string& old, const std::string& fresh) {
        return change_own_password(
            parts(), "net", principal_,
            request_of(R"({"password":")" + old + R"(","new_password":")" + fresh + "\"}"));
    };
    EXPECT_EQ(change(password, "short").status, 400U);
    EXPECT_EQ(message_of(change(password, password)), "the new password is the one in use");
    EXPECT_EQ(change("wrong", "another long one").status, 403U);
    EXPECT_EQ(newest_note(),
              "root|refuse password change||the current password was wrong, from 10.0.0.7");
    EXPECT_EQ(change(password, "another long one").status, 204U);
    EXPECT_EQ(newest_note(),
              "root|change password|root|its other sessions are over, from 10.0.0.7");
    const auto account = store_->accounts().find_account("root").value();
    EXPECT_NE(match_password(account->password_hash, "another long one"), PasswordMatch::No);
    principal_.name = "sso";
    EXPECT_EQ(message_of(change(password, "another long one")),
              "this account has no password here");
}

TEST_F(AccountRoutes, OwnPasswordsAreNotGuessedEither) {
    put_account("root", Role::Admin, false, hash_password(password).value());
    const auto later = SignInLimits::Clock::now() + std::chrono::hours(1);  // none comes back
    for (int i = 0; i < 10; ++i)
        (void)limits_.take(
            "root", "net", [] { return false; }, later);
    const Reply waits = change_own_password(parts(), "net", principal_,
                                            request_of(R"({"password":")" + std::string(password) +
                                                       R"(","new_password":"another long one"})"));
    EXPECT_EQ(waits.status, 429U);
    EXPECT_EQ(message_of(waits), "too many attempts with a wrong password");
    EXPECT_EQ(newest_note(), "|refuse password change||too many attempts, from 10.0.0.7");
}

TEST_F(AccountRoutes, GuessersElsewhereDoNotShutOutWhoHasASession) {
    put_account("ann", Role::Reader, false, hash_password(password).value());
    ASSERT_TRUE(authenticator_->sign_in("ann", password, "10.0.0.7", 5)->has_value());
    int sender = 0;
    const auto later = SignInLimits::Clock::now() + std::chrono::hours(1);  // none comes back
    const auto guess = [&] {
        return limits_.take(
            "ann", "guesser " + std::to_string(sender), [] { return false; }, later);
    };
    while (guess().wait.count() == 0) ASSERT_LT(++sender, 10'000);
    const Request right =
        request_of(R"({"account":"ann","password":")" + std::string(password) + "\"}");
    EXPECT_EQ(sign_in(parts(), network_of_sender("10.9.9.9"), right).status, 429U);
    EXPECT_EQ(sign_in(parts(), network_of_sender("10.0.0.7"), right).status, 204U);
}

TEST_F(AccountRoutes, SigningOutDeletesTheCookie) {
    const Reply reply = sign_out(parts(), principal_, request_of(""));
    EXPECT_EQ(reply.status, 204U);
    ASSERT_EQ(reply.headers.size(), 1U);
    EXPECT_THAT(reply.headers[0].second, HasSubstr("Max-Age=0"));
    EXPECT_EQ(newest_note(), "root|sign out||from 10.0.0.7");
    principal_.kind = Principal::Kind::Token;
    principal_.name = "rack";
    EXPECT_EQ(sign_out(parts(), principal_, request_of("")).status, 204U);
    EXPECT_EQ(newest_note(), "root|sign out||from 10.0.0.7");
}

TEST_F(AccountRoutes, AccountsAreCheckedBeforeTheyAreAdded) {
    EXPECT_EQ(add(R"({"account":"a b","password":"long enough for me","role":"admin"})").status,
              400U);
    EXPECT_EQ(add(R"({"account":"ann","password":"short","role":"admin"})").status, 400U);
    EXPECT_EQ(add(R"({"account":"ann","password":"long enough for me","role":"boss"})").status,
              400U);
    EXPECT_EQ(add(R"({"account":"ann","role":"admin"})").status, 400U);
    const std::string reader =
        R"({"account":"ann","password":"long enough for me","role":"reader"})";
    principal_.kind = Principal::Kind::Local;
    EXPECT_EQ(message_of(add(reader)), "the first account has to be an admin's");
    EXPECT_TRUE(store_->accounts().list().value().empty());
    principal_.kind = Principal::Kind::Session;
    const Reply added = add(reader);
    ASSERT_EQ(added.status, 201U) << added.body;
    EXPECT_EQ(json::parse(added.body).at("role"), "reader");
    EXPECT_TRUE(json::parse(added.body).at("last_sign_in_ns").is_null());
    EXPECT_EQ(newest_note(), "root|add account|ann|reader, from 10.0.0.7");
    EXPECT_EQ(message_of(add(reader)), "there is an account of that name already");
}

TEST_F(AccountRoutes, TheLastAdminStays) {
    put_account("a", Role::Admin);
    put_account("b", Role::Admin);
    put_account("off", Role::Admin, true);
    put_account("r", Role::Reader);
    EXPECT_EQ(message_of(remove("nobody")), "there is no such account");
    EXPECT_EQ(remove("a").status, 204U);
    EXPECT_EQ(newest_note(), "root|delete account|a|from 10.0.0.7");
    EXPECT_EQ(remove("b").status, 409U);
    EXPECT_EQ(message_of(remove("b")), "it is the last admin");
    EXPECT_EQ(remove("off").status, 204U);
    EXPECT_EQ(remove("r").status, 204U);
    EXPECT_EQ(store_->accounts().list().value().size(), 1U);
}

TEST_F(AccountRoutes, TokensAreListedByNameAndRevokedById) {
    put_token("id1", "web", 7);
    put_token("id2", "db", 8);
    put_token("id3", "db", 9);
    const json::value listed = json::parse(list_tokens(store_->tokens()).body);
    std::vector<std::string> ids;
    for (const json::value& token : listed.at("tokens").as_array())
        ids.push_back(json::value_to<std::string>(token.at("id")));
    EXPECT_THAT(ids, ElementsAre("id3", "id2", "id1"));
    EXPECT_EQ(json::serialize(listed.at("tokens").at(2)),
              R"({"id":"id1","name":"web","scope":"upload","host":null,"group":null,)"
              R"("created_ns":"7","expires_ns":null,"last_used_ns":null})");
    const auto revoke = [&](const std::string& id) {
        return delete_token(store_->tokens(), *audit_, principal_, route_of({id}), request_of(""));
    };
    EXPECT_EQ(revoke("id1").status, 204U);
    EXPECT_EQ(newest_note(), "root|revoke token|web|from 10.0.0.7");
    EXPECT_EQ(message_of(revoke("id1")), "there is no such token");
}

TEST_F(AccountRoutes, TokensAreCheckedBeforeTheyAreMade) {
    const Reply made = make_token(R"({"name":"rack","scope":"upload","host":"db\u001b1",)"
                                  R"("expires_ns":"9000000000000000000"})");
    ASSERT_EQ(made.status, 201U) << made.body;
    const json::value answer = json::parse(made.body);
    const auto id = json::value_to<std::string>(answer.at("id"));
    const auto stored = store_->tokens().find_token(id).value();
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->name, "rack");
    EXPECT_EQ(stored->scopes, static_cast<std::uint32_t>(ScopeUpload));
    EXPECT_EQ(stored->host, "db\\x1b1");
    EXPECT_EQ(stored->made_by, "root");
    EXPECT_EQ(stored->expires_realtime_ns, 9'000'000'000'000'000'000U);
    const auto text = json::value_to<std::string>(answer.at("token"));
    EXPECT_TRUE(authenticator_->of_token(text, 1).value().has_value());
    EXPECT_EQ(newest_note(), "root|add token|rack|upload, from 10.0.0.7");
    EXPECT_EQ(message_of(make_token(R"({"name":"rack","scope":"read"})")),
              "there is a token of that name already");
    EXPECT_EQ(make_token(R"({"name":"a@b","scope":"read"})").status, 400U);
    EXPECT_EQ(make_token(R"({"name":"x","scope":"all"})").status, 400U);
    for (const char* past : {"\"1\"", "\"\"", "\"soon\"", "5"})
        EXPECT_EQ(
            make_token(std::string(R"({"name":"x","scope":"read","expires_ns":)") + past + "}")
                .status,
            400U)
            << past;
    EXPECT_EQ(
        make_token(R"({"name":"x","scope":"read","host":")" + std::string(257, 'h') + "\"}").status,
        400U);
    EXPECT_EQ(make_token(R"({"name":"x","scope":"read","host":null,"expires_ns":null})").status,
              201U);
    principal_.kind = Principal::Kind::Local;
    EXPECT_EQ(message_of(make_token(R"({"name":"y","scope":"read"})")),
              "nobody could sign in any more once there is a token");
    EXPECT_EQ(store_->tokens().list().value().size(), 2U);
}

TEST_F(AccountRoutes, TheAuditIsReadInPartsAndByKind) {
    audit_->note("ann", "sign in", "", "from x");
    audit_->note("ann", "add account", "=bob", "reader");
    audit_->note("", "refuse token", "y", "");
    audit_->note("ann", "sign out", "", "from x");
    const auto actions = [&](std::vector<std::pair<std::string, std::string>> query) {
        const Reply reply = list_audit(store_->audit(), route_of({}, std::move(query)));
        std::vector<std::string> found;
        if (reply.status != 200) return std::vector<std::string>{message_of(reply)};
        const json::value answer = json::parse(reply.body);
        for (const json::value& entry : answer.at("entries").as_array())
            found.push_back(json::value_to<std::string>(entry.at("action")));
        if (answer.at("next").is_string()) found.push_back("next");
        return found;
    };
    EXPECT_THAT(actions({}), ElementsAre("sign out", "refuse token", "add account", "sign in"));
    EXPECT_THAT(actions({{"only", "sign-ins"}}), ElementsAre("sign out", "sign in"));
    EXPECT_THAT(actions({{"only", "refusals"}}), ElementsAre("refuse token"));
    EXPECT_THAT(actions({{"only", "all"}}), ElementsAre("\"only\": expected sign-ins or refusals"));
    EXPECT_THAT(actions({{"limit", "3"}}),
                ElementsAre("sign out", "refuse token", "add account", "next"));
    EXPECT_THAT(actions({{"limit", "5"}}),
                ElementsAre("sign out", "refuse token", "add account", "sign in"));
    const auto entries = store_->audit().list(9, {}, AuditPart::All).value();
    EXPECT_THAT(actions({{"after", "1-" + std::to_string(entries[1].number)}}),
                ElementsAre("add account", "sign in"));
    const json::value newest =
        json::parse(list_audit(store_->audit(), route_of({}, {{"limit", "1"}})).body);
    EXPECT_EQ(newest.at("next"), json::value(std::to_string(entries[0].at_realtime_ns) + "-" +
                                             std::to_string(entries[0].number)));
    const Reply file =
        export_audit(store_->audit(), route_of({}, {{"only", "refusals"}, {"format", "ndjson"}}));
    char buffer[1000];
    const std::size_t size = file.source->read(buffer, sizeof buffer).value();
    const json::value line = json::parse(std::string_view(buffer, size));
    EXPECT_EQ(line.at("action"), "refuse token");
    EXPECT_TRUE(line.at("who").is_null());
    const Reply csv = export_audit(store_->audit(), route_of({}));
    std::string text;
    while (const std::size_t got = csv.source->read(buffer, sizeof buffer).value())
        text.append(buffer, got);
    EXPECT_THAT(text, testing::StartsWith("id,at,at_ns,who,action,object,detail\r\n"));
    EXPECT_THAT(text, HasSubstr(",ann,add account,\"'=bob\",reader\r\n"));
}

}  // namespace
}  // namespace lagtrap::server::account_routes_test
