// Trees of calls alone, as a file that opens in viewers of Perfetto traces.
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

// One thread's. What it is given is in memory until finish().
class CallsFile {
  public:
    // Makes a file beside `path`, which finish() puts in its place: who does not come so far leaves what was there before.
    // Errors: it cannot be made.
    [[nodiscard]] static Result<CallsFile> create(const std::filesystem::path& path, const std::string& track_name);
    CallsFile(CallsFile&&) noexcept = default;
    CallsFile& operator=(CallsFile&&) = delete;
    ~CallsFile();

    // As CallSlices has them.
    void add_functions(const std::vector<calls::Function>& functions) { slices_->add_functions(functions); }
    bool add(const calls::Tree& tree, const std::vector<calls::Times>& times, std::uint32_t pid,
             std::string_view process);
    // Errors of any write.
    [[nodiscard]] Status finish();
    [[nodiscard]] std::size_t trees() const { return slices_->trees(); }
    [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
    [[nodiscard]] std::uint64_t size_bytes() const { return writer_->size_bytes(); }

  private:
    CallsFile(std::filesystem::path path, std::filesystem::path beside, PacketWriter writer, const std::string& name);
    ClockSnapshot clocks_;                 // by which times are converted
    std::filesystem::path path_, beside_;  // beside_: empty: it has its name, or belongs to another
    std::unique_ptr<PacketWriter> writer_;
    std::unique_ptr<CallSlices> slices_;
    std::uint64_t left_out_ = 0;
};

}  // namespace lagtrap::trace
