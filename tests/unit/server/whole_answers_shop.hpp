// What a few machines recorded in sixteen days, for tests that only read it. "checkout" became slow
// on some hosts 30 hours before the end.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/store/store.hpp"

namespace lagtrap::server {

// Eight hosts record runs of "checkout", and fra-1 those of "login", which stays as it was.
// "search" ran on ten hosts in the last hours. "print" only has delays in bundles.
class RecordedShop {
  public:
    static constexpr std::uint64_t ms = 1'000'000;
    static constexpr std::uint64_t hour = 3'600'000 * ms;
    static constexpr std::uint64_t begin_ns = 20'003ULL * 24 * hour;
    static constexpr std::uint64_t end_ns = begin_ns + 16 * 24 * hour;
    static constexpr std::uint64_t changed_ns = end_ns - 30 * hour;

    explicit RecordedShop(Store& store);

  private:
    void add_batch(trace::RunBatch batch);
    void add_checkout(const std::string& host, std::size_t number);
    void add_login();
    void add_search(const std::string& host, std::uint64_t number);
    void add_bundle(const std::string& host, const std::vector<BundleDelay>& delays,
                    std::uint64_t received_ns);
    void add_checkout_bundle(const std::string& host, std::size_t number);
    void add_print_bundle(const std::string& host, std::uint64_t number);

    Store& store_;
    std::uint64_t batches_ = 0, bundles_ = 0;
};

// Its store is made once for all tests.
class RecordedShopTest : public testing::Test {
  protected:
    static Store& store();
    static Evidence evidence() { return store().everything(); }
};

}  // namespace lagtrap::server
