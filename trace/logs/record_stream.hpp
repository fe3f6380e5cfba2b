// A log's records in order of time. Producers on several CPUs write nearly in order; a window of records, bounded
// in number, is held back and sorted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "trace/logs/log.hpp"

namespace lagtrap::trace {

class RecordStream {
  public:
    // As LogReader::open. `window_records`: how many records are held back at most.
    [[nodiscard]] static Result<RecordStream> open(const std::filesystem::path& path, std::size_t window_records);
    // A log that is missing: no records, partial.
    [[nodiscard]] static RecordStream missing();

    // Hands out no records of this type (stacks, which are read beforehand).
    void leave_out(lagtrap_record_type type) { left_out_ = type; }

    // The next record or nullptr at the end; valid until pop(). Records of one time keep the log's order. One that
    // comes later than the window bridges follows later ones.
    [[nodiscard]] Result<const lagtrap_record*> peek();
    // Only after peek() gave a record.
    void pop();
    [[nodiscard]] bool partial() const { return reader_ == nullptr || reader_->summary().partial; }

  private:
    struct Held {
        std::uint64_t at_ns;
        std::uint64_t place;  // in the log
        std::unique_ptr<std::uint64_t[]> bytes;
        [[nodiscard]] bool operator<(const Held& other) const {  // for a heap with the earliest in front
            return at_ns != other.at_ns ? at_ns > other.at_ns : place > other.place;
        }
    };
    Status fill();

    std::unique_ptr<LogReader> reader_;
    std::size_t window_records_ = 0;
    lagtrap_record_type left_out_{};
    std::vector<Held> heap_;
    std::uint64_t read_ = 0;
    bool ended_ = false;
};

}  // namespace lagtrap::trace
