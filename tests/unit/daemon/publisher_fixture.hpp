// Makes this process publish contexts of its threads, by the library of
// tests/integration/programs/contexts/publisher.c.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/integration/programs/contexts/publisher.h"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon {

inline std::string publisher_library() { return build_folder() + "/daemon/libdaemon_publisher.so"; }

// As long as this process runs.
class Publisher {
  public:
    static Publisher& of_this_process() {
        static Publisher publisher;
        return publisher;
    }
    // The thread's pointer to its context.
    [[nodiscard]] std::uint64_t own_place() const {
        return reinterpret_cast<std::uint64_t>(place_());
    }

  private:
    Publisher() {
        void* const library = ::dlopen(publisher_library().c_str(), RTLD_NOW | RTLD_LOCAL);
        EXPECT_NE(library, nullptr) << ::dlerror();
        const auto publish =
            reinterpret_cast<decltype(&publish_keys)>(::dlsym(library, "publish_keys"));
        place_ =
            reinterpret_cast<decltype(&own_context_place)>(::dlsym(library, "own_context_place"));
        const std::array<const char*, 3> keys{"http.route", "secret", "tenant"};
        EXPECT_EQ(publish(keys.data(), static_cast<int>(keys.size())), 0);
    }
    decltype(&own_context_place) place_ = nullptr;
};

}  // namespace lagtrap::daemon
