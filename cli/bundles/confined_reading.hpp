// Foreign files read by lagtrap-reader, a process without privileges, instead of by the command itself.
#pragma once

#include <memory>

#include "binaries/reader/file_reader.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// As long as it lives, ProgramFile reads by lagtrap-reader. Where that is not installed, as the daemon is not, the
// command reads by itself. One at a time, while there is one thread.
class ConfinedReading {
  public:
    // Errors: lagtrap-reader is there, but cannot be started.
    [[nodiscard]] static Result<ConfinedReading> start();
    ConfinedReading(ConfinedReading&&) noexcept = default;
    ConfinedReading& operator=(ConfinedReading&&) = delete;
    ~ConfinedReading();

  private:
    explicit ConfinedReading(std::unique_ptr<binaries::FileReader> reader) : reader_(std::move(reader)) {}
    std::unique_ptr<binaries::FileReader> reader_;
};

}  // namespace lagtrap::cli
