#include "server/api/base_path.hpp"

#include <set>

#include <gtest/gtest.h>

#include "server/api/page_files.hpp"
#include "server/api/session_cookie.hpp"

namespace lagtrap::server::base_path_test {
namespace {

BasePath base_of(std::string_view text) { return BasePath::parse(text).value(); }

TEST(BasePath, IsNothingOrPartsBetweenSlashes) {
    EXPECT_EQ(base_of("").text(), "");
    EXPECT_EQ(base_of("/").text(), "");
    EXPECT_EQ(base_of("/lagtrap/").text(), "/lagtrap");
    EXPECT_EQ(base_of("/tools/lag-trap_2.~").text(), "/tools/lag-trap_2.~");
    for (const std::string& wrong :
         {std::string("lagtrap"), std::string("/a//b"), std::string("/../x"), std::string("/a/."),
          std::string("/a b"), std::string("/a?b"), std::string("/\"x"),
          "/" + std::string(200, 'a')})
        EXPECT_FALSE(BasePath::parse(wrong).ok()) << wrong;
}

TEST(BasePath, IsTakenOffTargetsBelowIt) {
    const BasePath base = base_of("/lagtrap");
    EXPECT_EQ(base.inner("/lagtrap/events?span=1h"), "/events?span=1h");
    EXPECT_EQ(base.inner("/lagtrap/"), "/");
    EXPECT_EQ(base.inner("/lagtrap/lagtrap/x"), "/lagtrap/x");
    EXPECT_EQ(base.inner("/healthz"), "/healthz");
    EXPECT_EQ(base.inner("/metrics"), "/metrics");
    for (const char* elsewhere :
         {"/", "/lagtrap", "/lagtrapper/x", "/api/v1/session", "/lagtrap?x", "/healthz/x", "x"})
        EXPECT_FALSE(base.inner(elsewhere)) << elsewhere;
    EXPECT_TRUE(base.is_short_of("/"));
    EXPECT_TRUE(base.is_short_of("/lagtrap"));
    EXPECT_FALSE(base.is_short_of("/lagtrap/"));
    EXPECT_EQ(base_of("").inner("/events"), "/events");
    EXPECT_FALSE(base_of("").is_short_of("/"));
}

TEST(BasePath, CookiesGoToItsPagesAlone) {
    const SessionCookie whole(base_of(""));
    EXPECT_EQ(whole.text(true, "s", 9),
              "__Host-lagtrap=s; Path=/; HttpOnly; SameSite=Lax; Max-Age=9; Secure");
    EXPECT_EQ(whole.text(false, "s", 9), "lagtrap=s; Path=/; HttpOnly; SameSite=Lax; Max-Age=9");
    const SessionCookie below(base_of("/lagtrap"));
    EXPECT_EQ(below.text(true, "s", 9),
              "__Secure-lagtrap=s; Path=/lagtrap/; HttpOnly; SameSite=Lax; Max-Age=9; Secure");
    EXPECT_EQ(below.name(true), "__Secure-lagtrap");
}

TEST(PageFiles, NameTheViewerOfTracesAndMayAskIt) {
    Route route;
    route.path = "/events";
    const auto policy_of = [](const Reply& reply) {
        for (const auto& [name, value] : reply.headers)
            if (name == "Content-Security-Policy") return value;
        return std::string();
    };
    const Reply page =
        PageFiles(base_of(""), "https://viewer.example:8443/perfetto/").find(route, {});
    EXPECT_NE(
        page.body.find("name=\"lagtrap-viewer\" content=\"https://viewer.example:8443/perfetto/\""),
        std::string::npos);
    EXPECT_NE(policy_of(page).find("connect-src 'self' https://viewer.example:8443;"),
              std::string::npos);
    const Reply without = PageFiles(base_of(""), "").find(route, {});
    EXPECT_NE(without.body.find("name=\"lagtrap-viewer\" content=\"\""), std::string::npos);
    EXPECT_NE(policy_of(without).find("connect-src 'self';"), std::string::npos);
}

TEST(PageFiles, GoToBrowsersInTheFormTheyTake) {
    const PageFiles pages(base_of(""), "");
    const auto find = [&](const std::string& path, const Request& request) {
        Route route;
        route.path = path;
        return pages.find(route, request);
    };
    const auto header_of = [](const Reply& reply, std::string_view wanted) {
        for (const auto& [name, value] : reply.headers)
            if (name == wanted) return value;
        return std::string();
    };
    const Reply page = find("/event/open%20it", {});
    EXPECT_EQ(page.status, 200U);
    EXPECT_EQ(header_of(page, "Cache-Control"), "no-cache");
    EXPECT_EQ(header_of(page, "Vary"), "Accept-Encoding");
    EXPECT_EQ(header_of(page, "Content-Encoding"), "");
    Request again;
    again.if_none_match = "W/\"other\", " + header_of(page, "ETag");
    const Reply unchanged = find("/event/open%20it", again);
    EXPECT_EQ(unchanged.status, 304U);
    EXPECT_EQ(unchanged.body, "");
    EXPECT_EQ(header_of(unchanged, "ETag"), header_of(page, "ETag"));
    again.if_none_match = "\"other\"";
    EXPECT_EQ(find("/", again).status, 200U);
    const Reply missing = find("/assets/none.js", {});
    EXPECT_EQ(missing.status, 404U);
    EXPECT_NE(missing.body.find("there is no such page"), std::string::npos);
    EXPECT_EQ(find("/%zz", {}).status, 404U);
    const std::size_t asset = page.body.find("/assets/");
    ASSERT_NE(asset, std::string::npos);
    const std::string path = page.body.substr(asset, page.body.find('"', asset) - asset);
    std::set<std::string> tags, bodies;
    for (const auto& [accepted, encoding] :
         {std::pair("", ""), std::pair("gzip", "gzip"), std::pair("gzip, br", "br")}) {
        Request request;
        request.accept_encoding = accepted;
        const Reply file = find(path, request);
        EXPECT_EQ(header_of(file, "Content-Encoding"), encoding);
        EXPECT_EQ(header_of(file, "Cache-Control"), "public, max-age=31536000, immutable");
        const std::string tag = header_of(file, "ETag");
        EXPECT_TRUE(*encoding == '\0' || tag.ends_with("-" + std::string(encoding) + "\"")) << tag;
        tags.insert(tag);
        bodies.insert(file.body);
    }
    EXPECT_EQ(tags.size(), 3U);
    EXPECT_EQ(bodies.size(), 3U);
}

TEST(BasePath, IsInThePageAndInTheDescription) {
    Route route;
    route.path = "/events";
    const Reply whole = PageFiles(base_of(""), "").find(route, {});
    const Reply below = PageFiles(base_of("/lagtrap"), "").find(route, {});
    EXPECT_NE(whole.body.find("\"/assets/"), std::string::npos);
    EXPECT_EQ(below.body.find("\"/assets/"), std::string::npos);
    EXPECT_NE(below.body.find("\"/lagtrap/assets/"), std::string::npos);
    EXPECT_NE(below.body.find("name=\"lagtrap-base\" content=\"/lagtrap\""), std::string::npos);
    EXPECT_NE(PageFiles(base_of("/lagtrap"), "").api_description().body.find("{url: /lagtrap,"),
              std::string::npos);
}

}  // namespace
}  // namespace lagtrap::server::base_path_test
