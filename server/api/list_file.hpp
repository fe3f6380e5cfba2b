// Streams a list of any length as a file: CSV, or one line of JSON per entry.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "core/result.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/filter.hpp"

namespace lagtrap::server {

enum class ListFormat { Csv, Lines };

// The query's "format": "csv" (default) or "ndjson".
[[nodiscard]] std::variant<ListFormat, Refusal> read_list_format(const Route& route);

// Appends the next part of the list to `text`. Returns the key of the part after it, or nullopt at
// the end.
using NextPart =
    std::function<Result<std::optional<PageKey>>(std::optional<PageKey> after, std::string& text)>;

// Holds one part in memory at a time. `columns` is the first line of CSV, including its end.
[[nodiscard]] Reply list_file(ListFormat format, const char* name, const char* columns,
                              NextPart next);

// The cells of a CSV line (RFC 4180). Names come from other machines, so a text that a spreadsheet
// would read as a formula gets an apostrophe.
class Cells {
  public:
    explicit Cells(std::string& line) : line_(line) {}

    void add(std::string_view text);
    template <std::integral Integer>
    void add(Integer value) {
        next();
        fmt::format_to(std::back_inserter(line_), "{}", +value);
    }
    void add(const std::optional<std::uint64_t>& value);

  private:
    void next();

    std::string& line_;
    bool first_ = true;
};

}  // namespace lagtrap::server
