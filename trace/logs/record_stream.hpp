// The records of a log in time order. Producers on several CPUs write nearly in order, so a bounded
// number of records is held back and sorted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "trace/logs/log.hpp"

namespace lagtrap::trace {

class RecordStream {
  public:
    // Errors as LogReader::open(). `window_records` is the most records to hold back.
    [[nodiscard]] static Result<RecordStream> open(const std::filesystem::path& path,
                                                   std::size_t window_records);
    // A stand-in for a missing log: it has no records and is partial().
    [[nodiscard]] static RecordStream missing();

    // Skips records of this type (stacks, which are read beforehand).
    void leave_out(lagtrap_record_type type) { left_out_ = type; }

    // Returns the next record, or nullptr at the end; valid until pop(). Records with equal time
    // stamps keep the log's order. A record that is later than the window allows is returned after
    // newer ones.
    [[nodiscard]] Result<const lagtrap_record*> peek();
    // Call only after peek() returned a record.
    void pop();
    [[nodiscard]] bool partial() const { return reader_ == nullptr || reader_->summary().partial; }

  private:
    struct Held {
        std::uint64_t at_ns;
        std::uint64_t place;  // position in the log
        std::unique_ptr<std::uint64_t[]> bytes;
        // for a heap with the earliest on top
        [[nodiscard]] bool operator<(const Held& other) const {
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
