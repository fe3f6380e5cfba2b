// What this process and the one that reads files for it say to each other (file_reader.hpp). Used by the other files of
// this folder. Both are of one build, so numbers are as this machine has them; either side may be hostile, so everything
// is bounded.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lagtrap::binaries {

inline constexpr int reader_socket = 3;
inline constexpr int reader_files_socket = 4;  // for the debug files that it asks for (sandbox/file_broker.hpp)

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
    Calls
};

// A request: this, the file's descriptor with it, then the body. An answer: this, then the body: what the task asks for,
// or an error's text. Before all of them the reader sends one as greeting, when it is confined.
struct ReaderHead {
    std::uint32_t task_or_error = 0;  // of an answer: 0, or 1 + ErrorKind
    std::uint32_t user = 0;           // of a greeting: whose rights the reader has
    std::uint64_t body_bytes = 0;
};

// Of one name of a symbol, and of one text for people.
inline constexpr std::size_t max_symbol_bytes = 1 << 20;
inline constexpr std::size_t max_message_bytes = 4096;

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
    void bytes(const void* data, std::size_t size) { content_.append(static_cast<const char*>(data), size); }
    std::string content_;
};

// After the first thing that does not fit everything is zero or empty, and good() is false.
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
    // How many things follow; no more than there can be, if each takes `least_bytes`.
    [[nodiscard]] std::size_t count(std::size_t limit, std::size_t least_bytes) {
        const auto value = number<std::uint64_t>();
        if (value > limit || value > rest_.size() / least_bytes) good_ = false;
        return good_ ? value : 0;
    }
    [[nodiscard]] bool good() const { return good_; }
    // Everything fitted, and nothing is left.
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
