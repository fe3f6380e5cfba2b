// Writes only call trees, as a file for viewers of Perfetto traces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "calls/call_tree.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "trace/perfetto/call_slices.hpp"
#include "trace/perfetto/packet_writer.hpp"

namespace lagtrap::trace {

// Keeps everything in memory until finish(). Not thread-safe.
class CallsFile {
  public:
    // Creates a temporary file next to `path`; finish() renames it. Without finish(), an existing
    // file at `path` stays untouched. Fails if the file cannot be created.
    [[nodiscard]] static Result<CallsFile> create(const std::filesystem::path& path,
                                                  const std::string& track_name);
    CallsFile(CallsFile&&) noexcept = default;
    CallsFile& operator=(CallsFile&&) = delete;
    ~CallsFile();

    // As in CallSlices.
    void add_functions(const std::vector<calls::Function>& functions) {
        slices_->add_functions(functions);
    }
    bool add(const calls::Tree& tree, const std::vector<calls::Times>& times, std::uint32_t pid,
             std::string_view process);
    // Returns the first error of any write.
    [[nodiscard]] Status finish();
    [[nodiscard]] std::size_t trees() const { return slices_->trees(); }
    [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
    [[nodiscard]] std::uint64_t size_bytes() const { return writer_->size_bytes(); }

  private:
    CallsFile(std::filesystem::path path, std::filesystem::path beside, PacketWriter writer,
              const std::string& name);
    ClockSnapshot clocks_;                 // for converting times
    std::filesystem::path path_, beside_;  // beside_ is empty if it was renamed or moved from
    std::unique_ptr<PacketWriter> writer_;
    std::unique_ptr<CallSlices> slices_;
    std::uint64_t left_out_ = 0;
};

}  // namespace lagtrap::trace
