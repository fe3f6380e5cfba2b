// Function names of several languages, and where their parameters begin.
#include "core/function_name.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace lagtrap::function_name_test {
namespace {

using Case = std::pair<std::string, std::string>;
class FunctionName : public testing::TestWithParam<Case> {};

TEST_P(FunctionName, LosesItsParametersAlone) {
    EXPECT_EQ(without_parameters(GetParam().first), GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(C, FunctionName,
                         testing::Values(Case("main", "main"), Case("", ""),
                                         Case("futex_wait [mod]", "futex_wait [mod]"),
                                         Case("(deleted)", "(deleted)"),
                                         Case("copy@@GLIBC_2.14", "copy@@GLIBC_2.14"),
                                         Case("operators_run", "operators_run")));

INSTANTIATE_TEST_SUITE_P(
    Cpp, FunctionName,
    testing::Values(
        Case("Store::get(int, char const*) const", "Store::get"), Case("f()", "f"),
        Case("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
        Case("app::(anonymous namespace)::Shop::f((anonymous namespace)::Plan const&)",
             "app::(anonymous namespace)::Shop::f"),
        Case("operator()(int) const", "operator()"),
        Case("std::function<void (int)>::operator()(int) const",
             "std::function<void (int)>::operator()"),
        Case("foo(void (*)(int))", "foo"),
        Case("foo<void (*)(int)>(void (*)(int))", "foo<void (*)(int)>"),
        Case("main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"),
        Case("f(int)::{lambda(int)#1}::operator()(int) const", "f::{lambda(int)#1}::operator()"),
        Case("A::f(int) const::Local::g(char)", "A::f::Local::g"),
        Case("f(int) [clone .cold]", "f"),
        Case("bool operator< <int>(A<int> const&)", "bool operator< <int>"),
        Case("A::operator<<(int)", "A::operator<<"),
        Case("A::operator<=>(A const&) const", "A::operator<=>"),
        Case("A::operator->()", "A::operator->"), Case("A::operator[](int)", "A::operator[]"),
        Case("A::operator+=(int)", "A::operator+="),
        Case("A::operator bool() const", "A::operator bool"),
        Case("operator new(unsigned long)", "operator new"),
        Case("operator\"\" _ms(unsigned long long)", "operator\"\" _ms"),
        Case("void (*get<int>(int))(char)", "void (*get<int>(int))"),
        Case("name[abi:cxx11](int)", "name[abi:cxx11]"), Case("A::~A()", "A::~A")));

INSTANTIATE_TEST_SUITE_P(
    Go, FunctionName,
    testing::Values(Case("main.main", "main.main"),
                    Case("main.(*Server).handle", "main.(*Server).handle"),
                    Case("net/http.(*conn).serve", "net/http.(*conn).serve"),
                    Case("main.main.func1", "main.main.func1"),
                    Case("main.(*Server).handle.func1", "main.(*Server).handle.func1"),
                    Case("main.F[...]", "main.F[...]"),
                    Case("main.(*List[...]).Push", "main.(*List[...]).Push"),
                    Case("main.Map[go.shape.func(int) string]",
                         "main.Map[go.shape.func(int) string]"),
                    Case("main.(*Server).handle-fm", "main.(*Server).handle-fm")));

INSTANTIATE_TEST_SUITE_P(
    Rust, FunctionName,
    testing::Values(Case("<T as Trait>::f", "<T as Trait>::f"),
                    Case("app::work::{closure#0}", "app::work::{closure#0}"),
                    Case("<(A, B) as app::Trait>::f", "<(A, B) as app::Trait>::f"),
                    Case("<dyn core::ops::Fn(i32) -> i32>::call",
                         "<dyn core::ops::Fn(i32) -> i32>::call"),
                    Case("<fn(i32) -> T as Trait>::f", "<fn(i32) -> T as Trait>::f"),
                    Case("<alloc::vec::Vec<T>>::push", "<alloc::vec::Vec<T>>::push")));

INSTANTIATE_TEST_SUITE_P(
    Others, FunctionName,
    testing::Values(Case("com.shop.Bar.<init>(int)", "com.shop.Bar.<init>"),
                    Case("void com.shop.Bar::buy(java.lang.String)", "void com.shop.Bar::buy"),
                    Case("JS:~(anonymous) /srv/a.js:3:1", "JS:~(anonymous) /srv/a.js:3:1"),
                    Case("app.S.f(int).nested(int)", "app.S.f.nested")));

INSTANTIATE_TEST_SUITE_P(Damaged, FunctionName,
                         testing::Values(Case("f(int", "f(int"), Case("f)(", "f)("),
                                         Case(">>>(", ">>>("), Case("operator", "operator"),
                                         Case("operator(", "operator("), Case("((((", "((((")));

TEST(ShorterFunctionName, LosesTemplateArgumentsFirst) {
    EXPECT_EQ(without_template_arguments("std::map<int, std::vector<A>>::find"), "std::map::find");
    EXPECT_EQ(without_template_arguments("f<&A::operator->>::g"), "f::g");
    EXPECT_EQ(without_template_arguments("A<int>::operator<< <char>"), "A::operator<< ");
    EXPECT_EQ(without_template_arguments("A::operator<"), "A::operator<");
    EXPECT_EQ(without_template_arguments("myoperator<int>::f"), "myoperator::f") << "no operator";
    EXPECT_EQ(without_template_arguments("operator<<int>"), "operator<<int>");
    EXPECT_EQ(without_template_arguments("main::{lambda(int)#1}::operator()"),
              "main::{lambda(int)#1}::operator()");
    EXPECT_EQ(without_template_arguments("<T as core::Iterator>::next"),
              "<T as core::Iterator>::next");
    EXPECT_EQ(without_template_arguments("broken<int"), "broken<int");
    EXPECT_EQ(without_template_arguments(""), "");
}

TEST(ShorterFunctionName, KeepsItsLastComponents) {
    EXPECT_EQ(last_components("clang::Parser<A>::ParseDeclaration", 2), "Parser::ParseDeclaration");
    EXPECT_EQ(last_components("clang::Parser::ParseDeclaration", 1), "ParseDeclaration");
    EXPECT_EQ(last_components("run::{lambda(a::B)#1}::operator()", 2),
              "{lambda(a::B)#1}::operator()");
    EXPECT_EQ(last_components("main", 2), "main");
    EXPECT_EQ(last_components("a::myoperator<b::c>::f", 2), "myoperator::f");
    EXPECT_EQ(last_components("a::b::c", 3), "a::b::c");
    EXPECT_EQ(last_components("a::b::c", 2), "b::c");
    EXPECT_EQ(last_components("a::b::c", 0), "a::b::c");
    EXPECT_EQ(last_components("a::(b::c)::d", 2), "(b::c)::d");
    EXPECT_EQ(last_components("a::b)::c", 1), "a::b)::c") << "the brackets do not match";
    EXPECT_EQ(last_components("<A as B>::c", 1), "<A as B>::c");
    EXPECT_EQ(last_components("core::fmt::write", 5), "core::fmt::write");
}

TEST(ShorterFunctionName, HasNoReturnType) {
    EXPECT_EQ(without_return_type("void Queue<int>::push<int>"), "Queue<int>::push<int>");
    EXPECT_EQ(without_return_type("std::pair<int, A> const& find<int, A>"), "find<int, A>");
    EXPECT_EQ(without_return_type("decltype(auto) visit<A>"), "visit<A>");
    EXPECT_EQ(without_return_type("non-virtual thunk to Queue<int>::push"), "Queue<int>::push");
    EXPECT_EQ(without_return_type("void A<int>::operator()<B>"), "A<int>::operator()<B>");
    EXPECT_EQ(without_return_type("A<int>::operator bool"), "A<int>::operator bool");
    EXPECT_EQ(without_return_type("bool operator< <int>"), "bool operator< <int>");
    EXPECT_EQ(without_return_type("LazyCompile:~handle /app.js:12"),
              "LazyCompile:~handle /app.js:12");
    EXPECT_EQ(without_return_type("<T as core::Iterator>::next"), "<T as core::Iterator>::next");
    EXPECT_EQ(without_return_type("main.(*Server).handle"), "main.(*Server).handle");
    EXPECT_EQ(without_return_type("futex_wait [mod]"), "futex_wait [mod]");
    EXPECT_EQ(without_return_type("broken> f<int"), "broken> f<int");
    EXPECT_EQ(without_return_type(""), "");
}

TEST(FunctionNames, LoseAnonymousNamespaces) {
    EXPECT_EQ(without_anonymous_namespaces("(anonymous namespace)::f"), "f");
    EXPECT_EQ(without_anonymous_namespaces(
                  "a::(anonymous namespace)::(anonymous namespace)::f((anonymous namespace)::B)"),
              "a::f(B)");
    EXPECT_EQ(without_anonymous_namespaces("(anonymous namespace)"), "(anonymous namespace)");
}

}  // namespace
}  // namespace lagtrap::function_name_test
