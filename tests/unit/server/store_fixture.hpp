// A store and a blob folder, both in a temporary folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "server/store/blobs.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

class StoreFixture : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-server-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
        auto store = open_store(directory_ / "lagtrap.sqlite");
        ASSERT_TRUE(store.ok()) << store.error().message;
        store_ = std::move(store).value();
        auto blobs = open_blobs(directory_, directory_);
        ASSERT_TRUE(blobs.ok()) << blobs.error().message;
        blobs_ = std::move(blobs).value();
    }
    void TearDown() override {
        blobs_.reset();
        store_.reset();
        std::filesystem::remove_all(directory_);
    }

    std::filesystem::path directory_;
    std::unique_ptr<Store> store_;
    std::unique_ptr<Blobs> blobs_;
};

}  // namespace lagtrap::server
