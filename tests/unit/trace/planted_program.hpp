// The running program of tests/unit/trace/programs/inlined.cpp, and the address of its three
// functions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/unit/trace/synthetic_capture.hpp"

namespace lagtrap::trace {

// The program ends with the object.
class PlantedProgram {
  public:
    explicit PlantedProgram(const std::filesystem::path& program);
    ~PlantedProgram();
    PlantedProgram(const PlantedProgram&) = delete;
    PlantedProgram& operator=(const PlantedProgram&) = delete;

    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
    [[nodiscard]] std::uint64_t place() const { return place_; }
    [[nodiscard]] std::uint64_t offset() const { return place_ - start_ + offset_; }
    // Records the mapping with the address, and a sample there.
    void record(SyntheticCapture& capture, const std::string& path,
                const std::string& build_id) const;
    // Waits until it has ended.
    void end();

  private:
    pid_t pid_ = -1;
    int input_ = -1;
    std::uint64_t place_ = 0, start_ = 0, end_ = 0, offset_ = 0;
};

// Raw bytes; empty if the file has none.
[[nodiscard]] std::string raw_build_id(const std::filesystem::path& program);

// The number of the source line that ends with the comment "line of the WHICH".
[[nodiscard]] std::uint32_t line_of(const std::string& which);

}  // namespace lagtrap::trace
