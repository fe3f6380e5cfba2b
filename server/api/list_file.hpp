// A list of any length as a file, CSV or a line of JSON for each entry, which is sent as it is read.
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

// "csv", the default, or "ndjson" of the query's "format".
[[nodiscard]] std::variant<ListFormat, Refusal> read_list_format(const Route& route);

// Appends a part of the list to the text; gives where the next part begins, or nothing after the last.
using NextPart = std::function<Result<std::optional<PageKey>>(std::optional<PageKey> after, std::string& text)>;

// Holds one part at a time. `columns`: the first line of CSV, with its end.
[[nodiscard]] Reply list_file(ListFormat format, const char* name, const char* columns, NextPart next);

// The cells of a line of CSV (RFC 4180). Names come from other machines: what a spreadsheet would take for a formula gets an
// apostrophe.
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
