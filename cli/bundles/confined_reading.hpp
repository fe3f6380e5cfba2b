// Has lagtrap-reader, an unprivileged process, read foreign files on behalf of the command.
#pragma once

#include <memory>

#include "binaries/reader/file_reader.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// While it exists, ProgramFile reads through lagtrap-reader. If lagtrap-reader is not installed (it
// comes with the daemon), the command reads files itself. Only one at a time, and only with a
// single thread.
class ConfinedReading {
  public:
    // Fails if lagtrap-reader exists but cannot be started.
    [[nodiscard]] static Result<ConfinedReading> start();
    ConfinedReading(ConfinedReading&&) noexcept = default;
    ConfinedReading& operator=(ConfinedReading&&) = delete;
    ~ConfinedReading();

  private:
    explicit ConfinedReading(std::unique_ptr<binaries::FileReader> reader)
        : reader_(std::move(reader)) {}
    std::unique_ptr<binaries::FileReader> reader_;
};

}  // namespace lagtrap::cli
