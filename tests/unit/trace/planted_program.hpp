// The program of tests/unit/trace/programs/inlined.cpp, running: where its three functions lie in memory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/unit/trace/synthetic_capture.hpp"

namespace lagtrap::trace {

// Ends with the object.
class PlantedProgram {
  public:
    explicit PlantedProgram(const std::filesystem::path& program);
    ~PlantedProgram();
    PlantedProgram(const PlantedProgram&) = delete;
    PlantedProgram& operator=(const PlantedProgram&) = delete;

    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
    [[nodiscard]] std::uint64_t place() const { return place_; }
    [[nodiscard]] std::uint64_t offset() const { return place_ - start_ + offset_; }
    // The mapping with the place, and a sample there.
    void record(SyntheticCapture& capture, const std::string& path, const std::string& build_id) const;
    // Waits until it has ended.
    void end();

  private:
    pid_t pid_ = -1;
    int input_ = -1;
    std::uint64_t place_ = 0, start_ = 0, end_ = 0, offset_ = 0;
};

// Raw bytes; empty where the file has none.
[[nodiscard]] std::string raw_build_id(const std::filesystem::path& program);

// Line of the one that ends with the comment "line of the WHICH" in the program's source.
[[nodiscard]] std::uint32_t line_of(const std::string& which);

}  // namespace lagtrap::trace
