#include "calls/object_rule.hpp"

#include <cerrno>

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

}  // namespace
}  // namespace lagtrap::calls::object_rule_test
