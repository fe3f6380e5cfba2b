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

TEST(LanguageRuntimeTest, ProbesAndTheirArgumentsAreThoseOfEachRuntime) {
    struct Row {
        Runtime runtime;
        std::string language, provider, begin, end;
        std::array<int, 6> arguments;  // scope and name with lengths, file, line
        bool reports_ends_alone;
    };
    for (const Row& row : {Row{Runtime::Ruby,
                               "Ruby",
                               "ruby",
                               "method__entry",
                               "method__return",
                               {0, -1, 1, -1, 2, 3},
                               false},
                           Row{Runtime::Python,
                               "Python",
                               "python",
                               "function__entry",
                               "function__return",
                               {0, -1, 1, -1, 0, 2},
                               true},
                           Row{Runtime::Java,
                               "Java",
                               "hotspot",
                               "method__entry",
                               "method__return",
                               {1, 2, 3, 4, -1, -1},
                               false}}) {
        const RuntimeTraits& traits = traits_of(row.runtime);
        EXPECT_EQ(traits.language, row.language);
        EXPECT_EQ(traits.provider, row.provider);
        EXPECT_EQ(traits.probes[0].begin, row.begin);
        EXPECT_EQ(traits.probes[0].end, row.end);
        EXPECT_FALSE(traits.probes[0].in_c);
        EXPECT_EQ((std::array{traits.scope, traits.scope_length, traits.name, traits.name_length,
                              traits.file, traits.line}),
                  row.arguments);
        EXPECT_EQ(traits.reports_ends_alone, row.reports_ends_alone);
        EXPECT_EQ(traits.probes[1].begin != nullptr, row.runtime == Runtime::Ruby);
    }
    const RuntimeProbes& in_c = traits_of(Runtime::Ruby).probes[1];
    EXPECT_EQ(std::string(in_c.begin), "cmethod__entry");
    EXPECT_EQ(std::string(in_c.end), "cmethod__return");
    EXPECT_TRUE(in_c.in_c);
    EXPECT_EQ(std::string(traits_of(Runtime::Node).language), "Node.js");
    for (const auto& [runtime, option] : {std::pair{Runtime::Ruby, "--enable-dtrace"},
                                          {Runtime::Python, "--with-dtrace"},
                                          {Runtime::Java, "--enable-dtrace"}})
        EXPECT_NE(std::string_view(traits_of(runtime).missing).find(option),
                  std::string_view::npos);
    EXPECT_NE(std::string_view(traits_of(Runtime::Ruby).advice).find("TracePoint.new"),
              std::string_view::npos);
    EXPECT_NE(std::string_view(traits_of(Runtime::Python).advice).find("3.13"),
              std::string_view::npos);
}

TEST(LanguageRuntimeTest, EachFileNameIsOfItsRuntime) {
    const std::vector<std::pair<std::string, Runtime>> names{
        {"libruby", Runtime::Ruby},    {"ruby", Runtime::Ruby},      {"libpython", Runtime::Python},
        {"python", Runtime::Python},   {"libjvm.so", Runtime::Java}, {"nodejs", Runtime::Node},
        {"libnode.so", Runtime::Node}, {"node", Runtime::Node}};
    for (const auto& [name, runtime] : names) {
        for (const std::string rest : {"", ".1", "-3.1", "3"})
            EXPECT_EQ(runtime_of_file("/opt/" + name + rest), runtime) << name << rest;
        EXPECT_EQ(runtime_of_file("/opt/" + name + "x"), std::nullopt) << name;
        EXPECT_EQ(runtime_of_file("/opt/x" + name), std::nullopt) << name;
    }
    EXPECT_EQ(folder_of_runtime("/usr/local/lib/server/libjvm.so"), "");
    EXPECT_EQ(folder_of_runtime("/lib/server/libjvm.so"), "");
}

TEST(LanguageRuntimeTest, PackagesAndFoldersOfALanguageAreKnown) {
    for (const std::string package : {"java/", "javax/", "jdk/", "sun/", "com/sun/"})
        EXPECT_EQ(system_reason(reported(Runtime::Java, (package + "A").c_str(), "m")),
                  "language library")
            << package;
    for (const char* file :
         {"<internal:array>", "/opt/ruby/lib/ruby/3.2.0/set.rb", "/opt/ruby/lib/ruby/2.7.0/set.rb",
          "/usr/lib/ruby/vendor_ruby/rack.rb"})
        EXPECT_EQ(system_reason(reported(Runtime::Ruby, "Set", "add", file)), "language library")
            << file;
    for (const char* scope : {"<frozen runpy>", "/usr/lib/python3/dist-packages/yaml/reader.py",
                              "/opt/python/lib/python3.12/json/decoder.py"})
        EXPECT_EQ(system_reason(reported(Runtime::Python, scope, "f")), "language library")
            << scope;
    EXPECT_EQ(system_reason(reported(Runtime::Ruby, "A", "b", "/srv/a.rb", true)), "in C");
    EXPECT_EQ(system_reason(reported(Runtime::Node, "java/A", "b", "<internal:x>")), "");
    EXPECT_EQ(module_of(reported(Runtime::Python, "", "f")), "Python");
    EXPECT_EQ(module_of(reported(Runtime::Ruby, "A", "b", "/srv/a.rb")), "Ruby");
}

}  // namespace
}  // namespace lagtrap::calls::language_runtime_test
