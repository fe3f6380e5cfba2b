#include "calls/language_runtime.hpp"

#include <gtest/gtest.h>

namespace lagtrap::calls::language_runtime_test {
namespace {

RuntimeFunction reported(Runtime runtime, const char* scope, const char* name,
                         const char* file = "", bool in_c = false) {
    return {runtime, scope, name, file, 4, in_c};
}

TEST(LanguageRuntimeTest, ItsFilesAreKnownByTheirNames) {
    EXPECT_EQ(runtime_of_file("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2"), Runtime::Ruby);
    EXPECT_EQ(runtime_of_file("/usr/bin/ruby3.1"), Runtime::Ruby);
    EXPECT_EQ(runtime_of_file("/usr/bin/python3.11"), Runtime::Python);
    EXPECT_EQ(runtime_of_file("/opt/lib/libpython3.11.so.1.0"), Runtime::Python);
    EXPECT_EQ(runtime_of_file("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"),
              Runtime::Java);
    EXPECT_EQ(runtime_of_file("/usr/bin/node"), Runtime::Node);
    for (const char* other : {"/usr/bin/rubycon", "/usr/bin/nodeswap", "/srv/pythonic/server",
                              "/usr/lib/libjvmti.so", ""})
        EXPECT_EQ(runtime_of_file(other), std::nullopt) << other;
}

TEST(LanguageRuntimeTest, WhatStandsBesideAJavaMachineIsItsOwn) {
    EXPECT_EQ(folder_of_runtime("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"),
              "/usr/lib/jvm/java-17-openjdk-amd64/");
    EXPECT_EQ(folder_of_runtime("/opt/shop/jre/lib/amd64/server/libjvm.so"), "/opt/shop/jre/");
    EXPECT_EQ(folder_of_runtime("/usr/lib/server/libjvm.so"), "") << "a folder of many programs";
    EXPECT_EQ(folder_of_runtime("/opt/libjvm.so"), "");
    EXPECT_EQ(folder_of_runtime("/opt/python/lib/libpython3.11.so.1.0"), "");
}

TEST(LanguageRuntimeTest, NamesAreAsPeopleWriteThem) {
    EXPECT_EQ(name_of(reported(Runtime::Ruby, "Cart", "add", "/srv/cart.rb")), "Cart#add");
    EXPECT_EQ(name_of(reported(Runtime::Ruby, "", "add", "/srv/cart.rb")), "add");
    EXPECT_EQ(name_of(reported(Runtime::Java, "org/shop/Cart", "add")), "org.shop.Cart.add");
    const RuntimeFunction python =
        reported(Runtime::Python, "/srv/shop/cart.py", "add", "/srv/shop/cart.py");
    EXPECT_EQ(name_of(python), "cart.py:add");
    EXPECT_EQ(module_of(python), "/srv/shop/cart.py");
    EXPECT_EQ(module_of(reported(Runtime::Java, "org/shop/Cart", "add")), "Java");
}

TEST(LanguageRuntimeTest, WhatBelongsToTheLanguageIsToldFromTheProgramsOwn) {
    const auto is_own = [](const RuntimeFunction& function) {
        return system_reason(function).empty();
    };
    EXPECT_TRUE(is_own(reported(Runtime::Java, "org/shop/Cart", "add")));
    EXPECT_FALSE(is_own(reported(Runtime::Java, "java/util/HashMap", "put")));
    EXPECT_TRUE(is_own(reported(Runtime::Java, "javalin/Server", "run"))) << "no package of Java's";
    EXPECT_TRUE(is_own(reported(Runtime::Ruby, "Cart", "add", "/srv/cart.rb")));
    EXPECT_FALSE(is_own(reported(Runtime::Ruby, "Set", "add", "/usr/lib/ruby/3.1.0/set.rb")));
    EXPECT_FALSE(is_own(reported(Runtime::Ruby, "Kernel", "tap", "<internal:kernel>")));
    EXPECT_FALSE(is_own(reported(Runtime::Ruby, "Integer", "times", "/srv/cart.rb", true)))
        << "in C";
    EXPECT_TRUE(is_own(reported(Runtime::Python, "/srv/shop/cart.py", "add")));
    EXPECT_TRUE(is_own(
        reported(Runtime::Python, "/srv/venv/lib/python3.11/site-packages/shop/cart.py", "add")));
    EXPECT_FALSE(
        is_own(reported(Runtime::Python, "/usr/lib/python3.11/json/decoder.py", "decode")));
    EXPECT_FALSE(is_own(reported(Runtime::Python, "<frozen importlib._bootstrap>", "_load")));
}

TEST(LanguageRuntimeTest, EachSaysWhatToDoWhereItTellsNothing) {
    for (const Runtime runtime : {Runtime::Ruby, Runtime::Python, Runtime::Java}) {
        EXPECT_NE(*traits_of(runtime).advice, 0);
        EXPECT_NE(traits_of(runtime).probes.front().begin, nullptr);
    }
    EXPECT_NE(std::string_view(traits_of(Runtime::Java).advice).find("-XX:+DTraceMethodProbes"),
              std::string_view::npos);
    EXPECT_EQ(traits_of(Runtime::Node).probes.front().begin, nullptr);
    EXPECT_NE(std::string_view(traits_of(Runtime::Node).missing).find("--perf-basic-prof"),
              std::string_view::npos);
}

}  // namespace
}  // namespace lagtrap::calls::language_runtime_test
