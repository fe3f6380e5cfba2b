// The protocol between this process and its reader (file_reader.hpp). Both are of the same build,
// so numbers have the machine's format. Either side may be hostile, so everything is bounded.
// Internal to binaries/.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::binaries {

inline constexpr int reader_socket = 3;
// for the debug files that it requests (sandbox/file_broker.hpp)
inline constexpr int reader_files_socket = 4;

enum class ReaderTask : std::uint32_t {
    BuildId = 1,
    Table,
    Program,
    Probes,
    Functions,
    Exits,
    Names,
    Code,
    Places,
    Container,
    Calls,
    ThreadVariable,
    PythonLayout
};

// A request is this with the file's descriptor, then the body. An answer is this, then the body:
// the result, or the text of an error. First of all, the reader sends one as a greeting once it is
// confined.
struct ReaderHead {
    std::uint32_t task_or_error = 0;  // in an answer: 0, or 1 + ErrorKind
    std::uint32_t user = 0;           // in a greeting: the reader's uid
    std::uint64_t body_bytes = 0;
};

// Limits for a symbol's name, for a message to people, and for other texts.
inline constexpr std::size_t max_symbol_bytes = 1 << 20;
inline constexpr std::size_t max_message_bytes = 4096;
inline constexpr std::size_t max_text_bytes = 64 << 10;
// A text in a message takes at least this.
inline constexpr std::size_t min_text_bytes = sizeof(std::uint32_t);

[[nodiscard]] inline Error malformed_answer() {
    return make_error(ErrorKind::System, "the file reader gave an invalid answer");
}

inline constexpr std::uint32_t reader_greeting = 0x74676c72;  // "rlgt"
inline constexpr int reader_not_confined = 4;                 // exit status

inline constexpr std::uint64_t max_request_bytes = 4 << 20;
inline constexpr std::uint64_t max_answer_bytes = 96 << 20;

class WireWriter {
  public:
    template <typename Number>
    void number(Number value) {
        static_assert(std::is_arithmetic_v<Number>);
        bytes(&value, sizeof value);
    }
    void text(std::string_view value) {
        number(static_cast<std::uint32_t>(value.size()));
        bytes(value.data(), value.size());
    }
    template <typename Item>
    void items(const std::vector<Item>& values) {
        static_assert(std::is_trivially_copyable_v<Item>);
        number(static_cast<std::uint64_t>(values.size()));
        bytes(values.data(), values.size() * sizeof(Item));
    }
    [[nodiscard]] std::string take() { return std::move(content_); }

  private:
    void bytes(const void* data, std::size_t size) {
        content_.append(static_cast<const char*>(data), size);
    }
    std::string content_;
};

// After the first malformed item, everything reads as zero or empty, and good() is false.
class WireReader {
  public:
    explicit WireReader(std::string_view content) : rest_(content) {}

    template <typename Number>
    [[nodiscard]] Number number() {
        static_assert(std::is_arithmetic_v<Number>);
        Number value{};
        take(&value, sizeof value);
        return value;
    }
    [[nodiscard]] std::string text(std::size_t limit_bytes) {
        const auto size = number<std::uint32_t>();
        if (size > limit_bytes || size > rest_.size()) good_ = false;
        if (!good_) return {};
        std::string value(rest_.substr(0, size));
        rest_.remove_prefix(size);
        return value;
    }
    template <typename Item>
    [[nodiscard]] std::vector<Item> items(std::size_t limit) {
        static_assert(std::is_trivially_copyable_v<Item>);
        const auto count = number<std::uint64_t>();
        if (count > limit || count > rest_.size() / sizeof(Item)) good_ = false;
        if (!good_) return {};
        std::vector<Item> values(count);
        take(values.data(), count * sizeof(Item));
        return values;
    }
    // Reads the number of items that follow. Not good if there is not enough data for items of
    // `min_bytes`.
    [[nodiscard]] std::size_t count(std::size_t limit, std::size_t min_bytes) {
        const auto value = number<std::uint64_t>();
        if (value > limit || value > rest_.size() / min_bytes) good_ = false;
        return good_ ? value : 0;
    }
    [[nodiscard]] bool good() const { return good_; }
    // True if everything was valid and nothing is left.
    [[nodiscard]] bool complete() const { return good_ && rest_.empty(); }

  private:
    void take(void* into, std::size_t size) {
        if (size > rest_.size()) good_ = false;
        if (!good_ || size == 0) return;
        std::memcpy(into, rest_.data(), size);
        rest_.remove_prefix(size);
    }
    std::string_view rest_;
    bool good_ = true;
};

}  // namespace lagtrap::binaries
