#include "server/api/oidc_routes.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api/base_path.hpp"
#include "tests/unit/server/oidc_fixture.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::oidc_routes_test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* back = "https://lagtrap.example/tools/back";

class OidcRoutes : public StoreFixture, public test::OidcFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        audit_.emplace(store_->audit(), [](const std::string&) {});
        authenticator_.emplace(*store_);
        provider_.emplace(settings());
    }
    OidcParts parts() {
        return {{*authenticator_, store_->accounts(), *audit_, limits_, cookie_},
                &*provider_,
                pending_,
                base_,
                back,
                log_};
    }
    static Route route_of(std::vector<std::pair<std::string, std::string>> query) {
        Route route;
        route.query = std::move(query);
        return route;
    }
    static Request request_of(const std::string& cookie = "") {
        Request request;
        request.cookie = cookie;
        request.sender = "10.0.0.7";
        request.secure = true;
        return request;
    }
    static std::vector<std::string> values_of(const Reply& reply, std::string_view name) {
        std::vector<std::string> values;
        for (const auto& [key, value] : reply.headers)
            if (key == name) values.push_back(value);
        return values;
    }
    static std::string location_of(const Reply& reply) {
        EXPECT_EQ(reply.status, 303U);
        EXPECT_THAT(values_of(reply, "Cache-Control"), ElementsAre("no-store"));
        const auto found = values_of(reply, "Location");
        return found.size() == 1 ? found[0] : "";
    }
    // What the browser keeps after it was sent to the provider.
    std::string pending_cookie(std::vector<std::pair<std::string, std::string>> query) {
        const Reply reply = begin_oidc(parts(), route_of(std::move(query)), request_of());
        const auto cookies = values_of(reply, "Set-Cookie");
        return cookies.size() == 1 ? cookies[0].substr(0, cookies[0].find(';')) : "";
    }
    static std::string secret_of(const std::string& cookie) {
        return cookie.substr(cookie.find('=') + 1, 43);
    }
    // The provider's redirect back, for the browser with this cookie.
    Reply finish(const std::string& cookie,
                 std::vector<std::pair<std::string, std::string>> more = {{"code", "c"}}) {
        std::vector<std::pair<std::string, std::string>> query{
            {"state", OidcProvider::state_of(secret_of(cookie))}};
        query.insert(query.end(), more.begin(), more.end());
        return finish_oidc(parts(), route_of(query), request_of(cookie));
    }
    // The reason with which people land on the sign-in page.
    static std::string reason_of(const Reply& reply) {
        EXPECT_THAT(values_of(reply, "Set-Cookie"), ElementsAre(pending_gone));
        const std::string location = location_of(reply), begin = "/tools/?sign_in=";
        EXPECT_THAT(location, StartsWith(begin));
        return location.substr(std::min(begin.size(), location.size()));
    }
    std::vector<std::string> notes() {
        std::vector<std::string> all;
        const auto entries = store_->audit().list(20, {}, AuditPart::All).value();
        for (const AuditEntry& entry : entries)
            all.insert(all.begin(),
                       entry.who + "|" + entry.action + "|" + entry.object + "|" + entry.detail);
        return all;
    }

    static constexpr const char* pending_gone =
        "__Secure-lagtrap-oidc=; Path=/tools/; HttpOnly; SameSite=Lax; Max-Age=0; Secure";
    BasePath base_ = BasePath::parse("/tools").value();
    SessionCookie cookie_{base_}, pending_{base_, "-oidc"};
    std::vector<std::string> lines_;
    std::function<void(const std::string&)> log_ = [this](const std::string& line) {
        lines_.push_back(line);
    };
    std::optional<Audit> audit_;
    std::optional<Authenticator> authenticator_;
    std::optional<OidcProvider> provider_;
    SignInLimits limits_;
};

TEST_F(OidcRoutes, TheProviderIsNamedIfThereIsOne) {
    EXPECT_EQ(get_sign_in_ways(nullptr).body, "{\"provider\":null}\n");
    EXPECT_EQ(get_sign_in_ways(&*provider_).body, "{\"provider\":\"Login\"}\n");
    OidcParts none = parts();
    none.provider = nullptr;
    for (const Reply& reply : {begin_oidc(none, route_of({}), request_of()),
                               finish_oidc(none, route_of({}), request_of())}) {
        EXPECT_EQ(reply.status, 404U);
        EXPECT_EQ(reply.body, R"({"error":{"message":"this server has no provider to sign in by",)"
                              R"("hint":"sign in with a password"}})"
                              "\n");
    }
}

TEST_F(OidcRoutes, BrowsersGoToTheProviderAndKeepASecret) {
    const Reply reply = begin_oidc(parts(), route_of({{"to", "/events?a=b&c=%20"}}), request_of());
    const auto cookies = values_of(reply, "Set-Cookie");
    ASSERT_EQ(cookies.size(), 1U);
    const std::string secret = secret_of(cookies[0]);
    EXPECT_EQ(cookies[0], "__Secure-lagtrap-oidc=" + secret +
                              "./events?a=b&c=%20; Path=/tools/; HttpOnly; SameSite=Lax; "
                              "Max-Age=600; Secure");
    EXPECT_EQ(location_of(reply), provider_->sign_in_address(secret, back).value());
    EXPECT_NE(secret_of(pending_cookie({})), secret);
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(OidcRoutes, PagesToReturnToAreThoseOfThisServer) {
    const auto page_of = [&](const std::string& to) {
        const std::string cookie = pending_cookie({{"to", to}});
        return cookie.substr(std::min(cookie.find('.') + 1, cookie.size()));
    };
    EXPECT_EQ(page_of("/events/a-b_c.d~?x=%20&y=(1)*'$!@:+"),
              "/events/a-b_c.d~?x=%20&y=(1)*'$!@:+");
    const std::string longest = "/" + std::string(1023, 'a');
    EXPECT_EQ(page_of(longest), longest);
    for (const std::string& elsewhere :
         {std::string("//evil.example"), std::string("https://evil.example"), std::string("events"),
          std::string(), std::string("/a;b"), std::string("/a b"), std::string("/\\evil.example"),
          std::string("/\"x"), longest + "a"})
        EXPECT_EQ(page_of(elsewhere), "/") << elsewhere;
    EXPECT_EQ(pending_cookie({}).substr(pending_cookie({}).size() - 2), "./");
}

TEST_F(OidcRoutes, AProviderThatDoesNotAnswerIsSaidAndLogged) {
    fake.answer(metadata_path, "500 Broken", "down\x1b");
    EXPECT_EQ(reason_of(begin_oidc(parts(), route_of({}), request_of())), "no-answer");
    EXPECT_THAT(lines_, ElementsAre("signing in by Login: " + fake.url() + metadata_path +
                                    " answered 500: down\\x1b"));
    EXPECT_THAT(notes(), IsEmpty());
}

TEST_F(OidcRoutes, SomebodyTheProviderVouchesForIsSignedIn) {
    const std::string cookie = pending_cookie({{"to", "/events"}});
    vouch(secret_of(cookie));
    const Reply reply = finish(cookie, {{"code", "c"}, {"iss", fake.url()}});
    EXPECT_EQ(location_of(reply), "/tools/events");
    const auto cookies = values_of(reply, "Set-Cookie");
    ASSERT_EQ(cookies.size(), 2U);
    EXPECT_THAT(cookies[0], StartsWith("__Secure-lagtrap="));
    EXPECT_THAT(cookies[0], HasSubstr("; Max-Age=604800; Secure"));
    EXPECT_EQ(cookies[1], pending_gone);
    const auto session =
        authenticator_->of_session(find_cookie(cookies[0], cookie_.name(true)).substr(0, 43),
                                   ClockSnapshot::take().realtime_ns);
    ASSERT_TRUE(session.ok() && session->has_value());
    EXPECT_EQ((*session)->name, "ann");
    EXPECT_TRUE((*session)->may_administer);
    EXPECT_THAT(notes(), ElementsAre("provider Login|add account|ann|admin, from 10.0.0.7",
                                     "ann|sign in||by Login, from 10.0.0.7"));
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(OidcRoutes, WhoeverDidNotBeginHereMustBeginAgain) {
    const std::string cookie = pending_cookie({{"to", "/events"}});
    const std::string secret = secret_of(cookie), name = "__Secure-lagtrap-oidc=";
    vouch(secret);
    const std::string state = OidcProvider::state_of(secret);
    const auto reason = [&](const std::string& kept,
                            std::vector<std::pair<std::string, std::string>> query) {
        return reason_of(finish_oidc(parts(), route_of(std::move(query)), request_of(kept)));
    };
    EXPECT_EQ(reason("", {{"state", state}, {"code", "c"}}), "expired");
    EXPECT_EQ(reason(cookie, {{"code", "c"}}), "expired");
    EXPECT_EQ(reason(cookie, {{"state", ""}, {"code", "c"}}), "expired");
    EXPECT_EQ(reason(cookie, {{"state", OidcProvider::state_of("x")}, {"code", "c"}}), "expired");
    for (const std::string& kept :
         {name + secret, name + secret + ".", name + secret + "./", name + secret + "-/events",
          name + secret + ".//evil.example", name + secret.substr(1) + "./events",
          "lagtrap-oidc=" + secret + "./events"})
        EXPECT_EQ(
            finish_oidc(parts(), route_of({{"state", state}, {"code", "c"}}), request_of(kept))
                .headers[0]
                .second,
            kept == name + secret + "./" ? "/tools/" : "/tools/?sign_in=expired")
            << kept;
    // Of no secret at all.
    EXPECT_EQ(reason("", {{"state", OidcProvider::state_of("")}, {"code", "c"}}), "expired");
    ASSERT_FALSE(lines_.empty());
    EXPECT_EQ(lines_[0],
              "signing in by Login: it was begun by another browser, or more than ten minutes ago");
}

TEST_F(OidcRoutes, AnswersOfOthersAndErrorsAreRefused) {
    const std::string cookie = pending_cookie({});
    vouch(secret_of(cookie));
    EXPECT_EQ(reason_of(finish(cookie, {{"code", "c"}, {"iss", "https://evil.example"}})),
              "refused");
    EXPECT_EQ(reason_of(finish(cookie, {{"code", "c"}, {"error", "access_denied"}})), "refused");
    EXPECT_EQ(reason_of(finish(cookie, {{"error", "e"}, {"error_description", "not\x1b today"}})),
              "refused");
    EXPECT_EQ(reason_of(finish(cookie, {})), "refused");
    EXPECT_THAT(lines_, ElementsAre("signing in by Login: the answer is by https://evil.example",
                                    "signing in by Login: access_denied ",
                                    "signing in by Login: e not\\x1b today",
                                    "signing in by Login: the answer has no code"));
    EXPECT_THAT(notes(), IsEmpty());
    EXPECT_THAT(fake.requests_for("/token"), IsEmpty());
}

TEST_F(OidcRoutes, ADeniedCodeIsInTheAuditAndAFailureIsNot) {
    const std::string cookie = pending_cookie({});
    fake.answer("/token", "503 Busy", "");
    EXPECT_EQ(reason_of(finish(cookie)), "no-answer");
    EXPECT_THAT(notes(), IsEmpty());
    fake.answer("/token", "400 Bad Request", "");
    EXPECT_EQ(reason_of(finish(cookie)), "refused");
    EXPECT_THAT(notes(), ElementsAre("|refuse sign-in||" + fake.url() +
                                     "/token answered 400, from 10.0.0.7"));
}

TEST_F(OidcRoutes, PeopleWithoutARoleOrAFittingNameAreRefused) {
    const std::string cookie = pending_cookie({});
    vouch(secret_of(cookie), {{"groups", {"others"}}});
    EXPECT_EQ(reason_of(finish(cookie)), "no-group");
    vouch(secret_of(cookie), {{"preferred_username", "a b"}});
    EXPECT_EQ(reason_of(finish(cookie)), "bad-name");
    ASSERT_EQ(store_->accounts().add_account({"bob", Role::Reader, "x", 5, false}).value(),
              AddOutcome::New);
    vouch(secret_of(cookie), {{"preferred_username", "bob"}});
    EXPECT_EQ(reason_of(finish(cookie)), "name-taken");
    EXPECT_THAT(
        notes(),
        ElementsAre(
            "|refuse sign-in|ann|none of the groups has a role here, from 10.0.0.7",
            "|refuse sign-in|a b|name is \"a b\"; expected 1 to 64 of letters, digits, dot, "
            "dash, underscore, at, from 10.0.0.7",
            "|refuse sign-in|bob|the account of that name is another person's, or disabled, "
            "from 10.0.0.7"));
    ASSERT_EQ(lines_.size(), 3U);
    EXPECT_EQ(lines_[0], "signing in by Login: ann: none of the groups has a role here");
    EXPECT_EQ(store_->accounts().list()->size(), 1U);
}

}  // namespace
}  // namespace lagtrap::server::oidc_routes_test
