// Shared by tests that need maps of the kernel, which only root may create.
#pragma once

#include <bpf/bpf.h>
#include <unistd.h>

#include <cstdint>

#include <gtest/gtest.h>

#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

class BpfFixture : public testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root may create maps of the kernel";
    }
    static UniqueFd map_of(bpf_map_type type, std::size_t key_bytes, std::size_t value_bytes,
                           std::uint32_t entries) {
        UniqueFd map(bpf_map_create(type, "test", static_cast<__u32>(key_bytes),
                                    static_cast<__u32>(value_bytes), entries, nullptr));
        EXPECT_TRUE(map.valid());
        return map;
    }
};

}  // namespace lagtrap::daemon
