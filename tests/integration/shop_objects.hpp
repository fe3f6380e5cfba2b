// A shop whose carts and SQL statements are followed: the lines of calls/object_stream.hpp that a
// trace of its objects writes. Two kinds of calls fail: the constructor of a cart, and the
// preparation of a statement.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "calls/object_stream.hpp"

namespace lagtrap::test {

inline constexpr std::uint64_t shop_ms = 1'000'000;
inline constexpr std::uint64_t shop_began_monotonic_ns = 1'000 * shop_ms;
inline constexpr std::uint64_t shop_cart = 0x7f10'0000'1000, shop_statement = 0x7f10'0000'2000;

// Numbers of the functions.
enum ShopFunction : std::uint32_t {
    ShopNewCart,
    ShopPrice,
    ShopEndCart,
    ShopPrepare,
    ShopStep,
    ShopFinalize
};

inline calls::ObjectsStarted shop_started(std::uint32_t pid, std::uint64_t began_realtime_ns) {
    calls::ObjectsStarted started;
    started.pid = pid;
    started.process = "shop";
    started.began_realtime_ns = began_realtime_ns;
    started.began_monotonic_ns = shop_began_monotonic_ns;
    started.classes = {"shop::Cart", "sqlite3_stmt"};
    const auto add = [&started](const char* name, calls::ObjectRole role,
                                std::uint32_t class_number) {
        calls::ObjectFunction& one = started.functions.emplace_back();
        one.function.name = name;
        one.function.module =
            class_number == 0 ? "/usr/bin/shop" : "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6";
        one.role = role;
        one.class_number = class_number;
    };
    add("shop::Cart::Cart(shop::Customer const&)", calls::ObjectRole::Create, 0);
    add("shop::Cart::price", calls::ObjectRole::Use, 0);
    add("shop::Cart::~Cart", calls::ObjectRole::Release, 0);
    add("sqlite3_prepare_v2", calls::ObjectRole::Create, 1);
    add("sqlite3_step", calls::ObjectRole::Use, 1);
    add("sqlite3_finalize", calls::ObjectRole::Release, 1);
    started.notes = {"no symbols of 2 files: their classes are found by virtual tables alone"};
    return started;
}

// `at_ms` after the trace began.
inline calls::ObjectCall shop_call(ShopFunction function, std::uint64_t at_ms,
                                   std::uint64_t elapsed_ms, std::uint32_t depth = 0) {
    calls::ObjectCall call;
    call.function = function;
    call.tid = 4102;
    call.begin_ns = shop_began_monotonic_ns + at_ms * shop_ms;
    call.end_ns = call.begin_ns + elapsed_ms * shop_ms;
    call.object = function < ShopPrepare ? shop_cart : shop_statement;
    call.state = calls::ObjectState::Alive;
    call.depth = depth;
    return call;
}

inline calls::ObjectCall failed_preparation(std::uint64_t at_ms) {
    calls::ObjectCall call = shop_call(ShopPrepare, at_ms, 1);
    call.object = 0;
    call.result = 1;
    call.failed = true;
    call.title = "select * from discounts where a < 5";
    call.error = "no such table: discounts";
    return call;
}

// In the order they end: the price of a cart with the statement below it, then the failed calls.
inline std::vector<calls::ObjectCall> shop_calls() {
    calls::ObjectCall prepare = shop_call(ShopPrepare, 5, 2, 1),
                      finalize = shop_call(ShopFinalize, 300, 1, 1),
                      price = shop_call(ShopPrice, 0, 310),
                      refused = shop_call(ShopNewCart, 320, 40);
    prepare.taken_bytes = finalize.given_bytes = 8192;
    prepare.title = "select * from prices";
    prepare.state = calls::ObjectState::Created;
    finalize.state = calls::ObjectState::Released;
    price.taken_bytes = 4096;
    refused.failed = refused.left = true;
    refused.error = "std::runtime_error: no customer 4711";
    return {prepare, shop_call(ShopStep, 8, 290, 1), finalize,
            price,   failed_preparation(312),        failed_preparation(314),
            refused};
}

inline std::vector<calls::ClassCounts> shop_counts(std::uint64_t failed_carts,
                                                   std::uint64_t failed_statements) {
    std::vector<calls::ClassCounts> counts(2);
    counts[0].created = 412;
    counts[0].released = 399;
    counts[0].alive = 13;
    counts[0].failures = failed_carts;
    counts[1].created = 90;
    counts[1].released = 92;
    counts[1].failures = failed_statements;
    counts[1].released_twice = 2;
    counts[1].used_after = 1;
    return counts;
}

inline calls::ObjectsEnded shop_ended(std::uint64_t failed_carts, std::uint64_t failed_statements) {
    calls::ObjectsEnded ended;
    ended.reason = "time limit reached";
    ended.length_ns = 10'000 * shop_ms;
    ended.sent = 812;
    ended.not_sent = 90;
    ended.classes = shop_counts(failed_carts, failed_statements);
    ended.totals = {{ShopNewCart, 419, failed_carts, 60 * shop_ms},
                    {ShopPrice, 412, 0, 3'100 * shop_ms},
                    {ShopPrepare, 111, failed_statements, 120 * shop_ms}};
    ended.stacks.push_back(
        {12,
         false,
         {"shop::Session::restore (shop)", "shop::Server::accept (shop)", "main (shop)"}});
    calls::OldObject& oldest = ended.oldest.emplace_back();
    oldest.function = ShopNewCart;
    oldest.tid = 4102;
    oldest.object = shop_cart;
    oldest.age_ns = 9'800 * shop_ms;
    oldest.uses = 3;
    oldest.bytes = 65536;
    oldest.caller = "shop::Session::restore (shop)";
    oldest.stack = 1;
    return ended;
}

template <class Reported>
std::string line_of(const Reported& reported) {
    return boost::json::serialize(calls::to_json(reported));
}

// As in the system file of a recording.
inline std::vector<std::string> recorded_shop_objects(std::uint32_t pid) {
    const std::vector<calls::ObjectFailure> failures{
        {ShopPrepare, 21, "result 1, no such table: discounts",
         "select * from discounts where a < 5", 0, 312},
        {ShopNewCart, 7, "std::runtime_error: no customer 4711", "", shop_cart, 320}};
    return {line_of(shop_started(pid, 0)), line_of(shop_calls()), line_of(failures),
            line_of(shop_ended(7, 21))};
}

}  // namespace lagtrap::test
