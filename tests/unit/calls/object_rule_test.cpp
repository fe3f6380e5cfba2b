#include "calls/object_rule.hpp"

#include <cerrno>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::calls::object_rule_test {
namespace {

TEST(ObjectRuleTest, FunctionsHaveAPlace) {
    const auto functions =
        parse_object_functions("sqlite3_prepare*:arg3*, fopen:result\tclose:arg0");
    ASSERT_TRUE(functions.ok());
    ASSERT_EQ(functions->size(), 3U);
    EXPECT_EQ((*functions)[0].pattern, "sqlite3_prepare*");
    EXPECT_EQ((*functions)[0].object.argument, 3U);
    EXPECT_TRUE((*functions)[0].object.behind);
    EXPECT_FALSE((*functions)[1].object.argument.has_value());
    EXPECT_EQ((*functions)[2].object.argument, 0U);
    EXPECT_FALSE((*functions)[2].object.behind);
    EXPECT_FALSE((*functions)[2].failure.has_value());
    const auto own = parse_object_functions("SSL_read:arg0:never SSL_get_error:arg0:nonzero");
    ASSERT_TRUE(own.ok());
    EXPECT_EQ((*own)[0].failure, Failure::Never);
    EXPECT_EQ((*own)[1].failure, Failure::Nonzero);
}

TEST(ObjectRuleTest, WrongPlacesAreRefused) {
    for (const char* text :
         {"fopen", ":arg0", "fopen:", "fopen:arg6", "fopen:arg", "fopen:arg00", "fopen:arg1**",
          "fopen:Result", "fopen:result:", "fopen:result:bad", "fopen:result:null:null"})
        EXPECT_FALSE(parse_object_functions(text).ok()) << text;
}

TEST(ObjectRuleTest, WhatIsWrittenIsReadAgain) {
    for (const ObjectPreset& preset : object_presets())
        for (const ObjectRule& rule : preset.rules) {
            const auto again = parse_object_rule(to_json(rule));
            ASSERT_TRUE(again.ok()) << rule.name;
            EXPECT_EQ(to_json(*again), to_json(rule));
            EXPECT_EQ(again->create.size(), rule.create.size());
            EXPECT_EQ(again->use, rule.use);
            EXPECT_EQ(again->use_failure, rule.use_failure);
            EXPECT_EQ(again->successes, rule.successes);
            EXPECT_EQ(again->excepts, rule.excepts);
            EXPECT_EQ(again->title, rule.title);
            EXPECT_EQ(again->reused, rule.reused);
        }
}

TEST(ObjectRuleTest, ErrnoMayBeNoFailure) {
    const auto rule = parse_object_rule({{"name", "x"},
                                         {"create", "f:result"},
                                         {"use", "g:arg0:errno"},
                                         {"except", "EWOULDBLOCK EINPROGRESS"}});
    ASSERT_TRUE(rule) << rule.error().message;
    EXPECT_EQ(rule->excepts, (std::vector<int>{EAGAIN, EINPROGRESS}));
    EXPECT_EQ(to_json(*rule).at("except").as_string(), "EAGAIN EINPROGRESS");
}

TEST(ObjectRuleTest, ErrorIsForAllKindsOfFunctions) {
    boost::json::object attributes{{"name", "x"},
                                   {"create", "f:result"},
                                   {"use", "g:arg0"},
                                   {"release", "h:arg0"},
                                   {"error", "nonzero"}};
    const auto same = parse_object_rule(attributes);
    ASSERT_TRUE(same) << same.error().message;
    EXPECT_EQ(same->create_failure, Failure::Nonzero);
    EXPECT_EQ(same->use_failure, Failure::Nonzero);
    EXPECT_EQ(same->release_failure, Failure::Nonzero);
    attributes["use-error"] = "negative";
    const auto other = parse_object_rule(attributes);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ(other->create_failure, Failure::Nonzero);
    EXPECT_EQ(other->use_failure, Failure::Negative);
    EXPECT_EQ(other->release_failure, Failure::Nonzero);
}

TEST(ObjectRuleTest, ErrorsNameTheAttribute) {
    const auto message_of = [](const boost::json::object& attributes) {
        const auto rule = parse_object_rule(attributes);
        return rule.ok() ? std::string() : rule.error().message;
    };
    EXPECT_NE(message_of({{"name", "x"}, {"creates", "f:arg0"}}).find("creates"),
              std::string::npos);
    EXPECT_NE(message_of({{"name", "x"}, {"create", "f:arg0"}, {"error", "wrong"}}).find("error"),
              std::string::npos);
    EXPECT_NE(
        message_of({{"name", "x"}, {"create", "f:arg0"}, {"success", "1 2 3 4 5"}}).find("success"),
        std::string::npos);
    const auto excepting = [&](const char* names, const char* error) {
        return message_of(
            {{"name", "x"}, {"create", "f:arg0"}, {"error", error}, {"except", names}});
    };
    EXPECT_NE(excepting("EAGAIN EAGAN", "errno").find("except: \"EAGAIN EAGAN\""),
              std::string::npos);
    EXPECT_NE(excepting("EPERM EAGAIN EINTR EIO EBADF", "errno").find("at most 4"),
              std::string::npos);
    EXPECT_NE(excepting("EAGAIN", "negative").find("error=\"errno\""), std::string::npos);
    EXPECT_EQ(excepting("EAGAIN, EINPROGRESS", "errno"), "");
    EXPECT_NE(message_of({{"name", "x"}, {"create", "f:arg0"}, {"title", "result"}}).find("title"),
              std::string::npos);
    EXPECT_NE(message_of({{"name", "x"}, {"class", "C"}, {"create", "f:arg0"}}).find("class"),
              std::string::npos);
    EXPECT_NE(message_of({{"name", "x"}}).find("create"), std::string::npos);
    EXPECT_NE(message_of({{"create", "f:arg0"}}).find("name"), std::string::npos);
    EXPECT_NE(message_of({{"name", 5}}).find("name"), std::string::npos);
}

TEST(ObjectRuleTest, TextsAndNumbersHaveLimits) {
    const auto is_read = [](const boost::json::object& more) {
        boost::json::object attributes{{"name", "x"}, {"create", "f:arg0"}};
        for (const auto& [name, value] : more) attributes[name] = value;
        return parse_object_rule(attributes).ok();
    };
    EXPECT_TRUE(is_read({{"success", "1 -2 3 4"}}));
    EXPECT_FALSE(is_read({{"success", "1 2 3 4x"}}));
    EXPECT_FALSE(is_read({{"success", "99999999999999999999"}}));
    EXPECT_TRUE(is_read({{"except", "EPERM EAGAIN EINTR EIO"}, {"error", "errno"}}));
    EXPECT_TRUE(is_read({{"name", std::string(1, 'n')}}));
    EXPECT_FALSE(is_read({{"name", std::string(100'000, 'n')}}));
}

boost::json::object full_attributes() {
    return {{"name", "statement"},
            {"library", "libdb.so*"},
            {"create", "open:arg1* make:result:null"},
            {"use", "step:arg0 get:arg5:nonzero"},
            {"release", "close:arg0:never"},
            {"message", "text:result"},
            {"create-error", "negative"},
            {"use-error", "errno"},
            {"release-error", "not-positive"},
            {"success", "100 -7"},
            {"except", "EINTR EIO"},
            {"title", "arg2"},
            {"reused", "yes"}};
}

TEST(ObjectRuleTest, EachAttributeIsReadAndWritten) {
    const auto read = parse_object_rule(full_attributes());
    ASSERT_TRUE(read) << read.error().message;
    ObjectRule rule;
    rule.name = "statement";
    rule.library = "libdb.so*";
    rule.create = {{"open", {1, true}, std::nullopt},
                   {"make", {std::nullopt, false}, Failure::Null}};
    rule.use = {{"step", {0, false}, std::nullopt}, {"get", {5, false}, Failure::Nonzero}};
    rule.release = {{"close", {0, false}, Failure::Never}};
    rule.message = {{"text", {std::nullopt, false}, std::nullopt}};
    rule.create_failure = Failure::Negative;
    rule.use_failure = Failure::MinusOne;
    rule.release_failure = Failure::NotPositive;
    rule.successes = {100, -7};
    rule.excepts = {EINTR, EIO};
    rule.title = 2;
    rule.reused = true;
    EXPECT_EQ(*read, rule);
    EXPECT_EQ(to_json(rule), full_attributes());
    ObjectRule of_class;
    of_class.name = "Cart";
    of_class.class_pattern = "shop::.*";
    const boost::json::object attributes{{"name", "Cart"},
                                         {"class", "shop::.*"},
                                         {"create-error", "never"},
                                         {"use-error", "never"},
                                         {"release-error", "never"}};
    EXPECT_EQ(to_json(of_class), attributes);
    const auto again = parse_object_rule(attributes);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, of_class);
}

TEST(ObjectRuleTest, ErrorsSayWhatIsAllowed) {
    const auto message_of = [](const boost::json::object& more) {
        boost::json::object attributes{{"name", "x"}, {"create", "f:arg0"}};
        for (const auto& [name, value] : more) attributes[name] = value;
        const auto rule = parse_object_rule(attributes);
        return rule.ok() ? std::string("accepted") : rule.error().message;
    };
    EXPECT_EQ(message_of({{"creates", "f:arg0"}}),
              "\"creates\" is not an object attribute; expected one of name, class, library, "
              "create, use, release, message, error, create-error, use-error, release-error, "
              "success, except, title, reused");
    EXPECT_EQ(message_of({{"use", "f"}}),
              "use: \"f\": expected FUNCTION:PLACE, such as fopen:result or close:arg0");
    EXPECT_EQ(message_of({{"release", "f:arg6"}}),
              "release: \"arg6\" is not an object position: expected arg0 to arg5, with a * if the "
              "argument points to the object's address, or result");
    EXPECT_EQ(message_of({{"message", "f:arg0:x"}}),
              "message: \"x\": expected never, negative, null, nonzero, not-positive or errno");
    for (const char* name : {"error", "create-error", "use-error", "release-error"})
        EXPECT_EQ(message_of({{name, "x"}}),
                  std::string(name) +
                      ": \"x\": expected never, negative, null, nonzero, not-positive or errno");
    EXPECT_EQ(message_of({{"success", "1 a"}}), "success: \"1 a\": expected at most 4 numbers");
    EXPECT_EQ(message_of({{"except", "EAGAN"}, {"error", "errno"}}),
              "except: \"EAGAN\": expected at most 4 errno names, such as EAGAIN EINPROGRESS");
    EXPECT_EQ(message_of({{"except", "EAGAIN"}}), "except: needs error=\"errno\"");
    for (const char* place : {"result", "arg0*"})
        EXPECT_EQ(message_of({{"title", place}}), "title: expected a text argument such as arg0");
    EXPECT_EQ(message_of({{"class", "C"}}),
              "object x: class cannot be combined with create, use and release, which are for "
              "objects in C");
    EXPECT_EQ(message_of({{"create", ""}}),
              "object x: no function creates it; give create=\"FUNCTION:PLACE\" or class=\"NAME\"");
    EXPECT_EQ(message_of({{"name", ""}}), "an object needs a name");
    EXPECT_EQ(message_of({{"library", 5}}),
              "object attribute library: expected a text of at most 4096 bytes");
    EXPECT_EQ(message_of({{"library", std::string(4096, 'l')}}), "accepted");
    EXPECT_NE(message_of({{"library", std::string(4097, 'l')}}), "accepted");
    std::string many;
    for (int i = 0; i < 64; ++i) many += "f:arg0 ";
    EXPECT_EQ(message_of({{"use", many}}), "accepted");
    EXPECT_EQ(message_of({{"use", many + "f:arg0"}}), "use: expected at most 64 functions");
    EXPECT_EQ(message_of({{"create", ""}, {"use", "f:arg0"}, {"class", "C"}}),
              message_of({{"class", "C"}}));
    EXPECT_EQ(message_of({{"except", "EOPNOTSUPP"}, {"use", "f:arg0"}, {"use-error", "errno"}}),
              "accepted");
    for (const char* name : {"create", "use", "release"})
        EXPECT_EQ(message_of({{"except", "EAGAIN"}, {name, "f:arg0:errno"}}), "accepted") << name;
}

TEST(ObjectRuleTest, PresetsAreTheRulesOfTheirLibraries) {
    const std::string presets[] = {
        "sqlite: SQLite databases and statements",
        R"({"name":"sqlite3","create":"sqlite3_open:arg1* sqlite3_open_v2:arg1*",)"
        R"("use":"sqlite3_exec:arg0 sqlite3_wal_checkpoint_v2:arg0 sqlite3_busy_timeout:arg0",)"
        R"("release":"sqlite3_close:arg0 sqlite3_close_v2:arg0",)"
        R"("message":"sqlite3_errmsg:result","create-error":"nonzero","use-error":"nonzero",)"
        R"("release-error":"nonzero","title":"arg0"})",
        R"({"name":"sqlite3_stmt","create":"sqlite3_prepare:arg3* sqlite3_prepare_v2:arg3* )"
        R"(sqlite3_prepare_v3:arg4*","use":"sqlite3_step:arg0 sqlite3_reset:arg0:never )"
        R"(sqlite3_bind_int*:arg0 sqlite3_bind_text*:arg0 sqlite3_bind_blob*:arg0 )"
        R"(sqlite3_bind_double:arg0 sqlite3_bind_null:arg0",)"
        R"("release":"sqlite3_finalize:arg0:never","create-error":"nonzero",)"
        R"("use-error":"nonzero","release-error":"nonzero","success":"100 101","title":"arg1"})",
        "openssl: OpenSSL connections",
        R"({"name":"SSL","library":"lib[sc][sr]*","create":"SSL_new:result",)"
        R"("use":"SSL_connect:arg0 SSL_accept:arg0 SSL_do_handshake:arg0 SSL_read:arg0 )"
        R"(SSL_read_ex:arg0 SSL_write:arg0 SSL_write_ex:arg0 SSL_shutdown:arg0 )"
        R"(SSL_get_error:arg0:nonzero","release":"SSL_free:arg0",)"
        R"("message":"ERR_reason_error_string:result ERR_error_string:result )"
        R"(X509_verify_cert_error_string:result","create-error":"null","use-error":"never",)"
        R"("release-error":"never","success":"2 3 4 6"})",
        "stdio: C library files (FILE)",
        R"({"name":"FILE","library":"libc.so*","create":"fopen:result fopen64:result )"
        R"(fdopen:result popen:result tmpfile:result","use":"fflush:arg0 fputs:arg1 fgets:arg2 )"
        R"(fprintf:arg0 fseek:arg0 fread:arg3 fwrite:arg3","release":"fclose:arg0 pclose:arg0",)"
        R"("create-error":"null","use-error":"never","release-error":"errno","title":"arg0"})",
        "sockets: sockets, by their file descriptors",
        R"({"name":"socket","library":"libc.so*",)"
        R"("create":"socket:result accept:result accept4:result",)"
        R"("use":"connect:arg0 bind:arg0 listen:arg0 send:arg0 recv:arg0 sendto:arg0 )"
        R"(recvfrom:arg0 sendmsg:arg0 recvmsg:arg0 shutdown:arg0 setsockopt:arg0",)"
        R"("release":"close:arg0","create-error":"errno","use-error":"errno",)"
        R"("release-error":"errno","except":"EAGAIN EINPROGRESS EALREADY EINTR","reused":"yes"})",
        "curl: libcurl transfers",
        R"({"name":"CURL","library":"libcurl*","create":"curl_easy_init:result",)"
        R"("use":"curl_easy_perform:arg0 curl_easy_setopt:arg0 curl_easy_reset:arg0",)"
        R"("release":"curl_easy_cleanup:arg0","message":"curl_easy_strerror:result",)"
        R"("create-error":"null","use-error":"nonzero","release-error":"never"})"};
    std::string expected, all;
    for (const std::string& line : presets) expected += line + "\n";
    for (const ObjectPreset& preset : object_presets()) {
        all += std::string(preset.name) + ": " + std::string(preset.what) + "\n";
        for (const ObjectRule& rule : preset.rules)
            all += boost::json::serialize(to_json(rule)) + "\n";
        const auto found = object_preset(preset.name);
        ASSERT_TRUE(found);
        EXPECT_EQ(*found, preset.rules);
    }
    EXPECT_EQ(all, expected);
    const auto none = object_preset("mysql");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(none.error().message,
              "no object preset \"mysql\"; expected one of sqlite, openssl, stdio, sockets, curl");
}

}  // namespace
}  // namespace lagtrap::calls::object_rule_test
