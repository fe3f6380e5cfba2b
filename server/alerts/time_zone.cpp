#include "server/alerts/time_zone.hpp"

#include <array>
#include <cctype>
#include <chrono>
#include <optional>
#include <string_view>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::server {
namespace {

constexpr std::int64_t day_s = 86400;
constexpr std::size_t zone_limit_bytes = 64;
constexpr std::size_t file_limit_bytes = 256 << 10;
constexpr std::size_t header_bytes = 44;
constexpr std::string_view magic = "TZif";

bool is_name(std::string_view zone) {
    if (zone.empty() || zone.size() > zone_limit_bytes) return false;
    char before = '/';
    for (const char letter : zone) {
        const bool is_alphanumeric = (letter >= 'A' && letter <= 'Z') ||
                                     (letter >= 'a' && letter <= 'z') ||
                                     (letter >= '0' && letter <= '9');
        // No part may be empty or begin with a dot or a sign.
        if (before == '/' && !is_alphanumeric) return false;
        if (!is_alphanumeric && std::string_view("_-+/").find(letter) == std::string_view::npos)
            return false;
        before = letter;
    }
    return before != '/';
}

Error broken(const std::string& what) {
    return make_error(ErrorKind::Invalid, "the time zone file is damaged: " + what);
}

// Reads big-endian numbers of a file with bounds checks.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    [[nodiscard]] bool has(std::size_t count) const { return bytes_.size() - at_ >= count; }
    void skip(std::size_t count) { at_ += count; }
    // Call has() first.
    std::int64_t number(std::size_t width) {
        std::uint64_t value =
            (static_cast<unsigned char>(bytes_[at_]) & 0x80) != 0 ? ~std::uint64_t{0} : 0;
        for (std::size_t i = 0; i < width; ++i)
            value = value << 8 | static_cast<unsigned char>(bytes_[at_++]);
        return static_cast<std::int64_t>(value);
    }
    [[nodiscard]] std::string_view rest() const { return bytes_.substr(at_); }

  private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

// RFC 8536: the number of each kind of entry in a block.
struct Counts {
    std::size_t is_ut = 0, is_standard = 0, leaps = 0, transitions = 0, types = 0, letters = 0;
    [[nodiscard]] std::size_t bytes(std::size_t time_width) const {
        return transitions * (time_width + 1) + types * 6 + letters + leaps * (time_width + 4) +
               is_standard + is_ut;
    }
};

std::optional<Counts> read_counts(Reader& reader) {
    if (!reader.has(header_bytes) || !reader.rest().starts_with(magic)) return std::nullopt;
    reader.skip(20);
    std::array<std::size_t, 6> numbers{};
    for (std::size_t& number : numbers) {
        const std::int64_t value = reader.number(4);
        if (value < 0 || value > static_cast<std::int64_t>(file_limit_bytes)) return std::nullopt;
        number = static_cast<std::size_t>(value);
    }
    return Counts{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}

Result<std::int64_t> offset_of_file(std::string_view bytes, std::int64_t at_unix_s) {
    if (bytes.size() < header_bytes || bytes[4] < '2') return broken("it has no 64-bit times");
    Reader reader(bytes);
    const auto old = read_counts(reader);
    if (!old || !reader.has(old->bytes(4))) return broken("its first block");
    reader.skip(old->bytes(4));
    const auto counts = read_counts(reader);
    if (!counts || !reader.has(counts->bytes(8)) || counts->types == 0)
        return broken("its second block");
    // The last transition at or before the given time.
    Reader times(reader.rest());
    std::size_t before = 0;
    while (before < counts->transitions && times.number(8) <= at_unix_s) ++before;
    Reader after(reader.rest());
    after.skip(counts->bytes(8));
    const std::string_view footer = after.rest();
    if (before == counts->transitions && footer.size() > 2 && footer.starts_with('\n') &&
        footer.find('\n', 1) != std::string_view::npos)
        return posix_zone_offset_s(std::string(footer.substr(1, footer.find('\n', 1) - 1)),
                                   at_unix_s);
    Reader kinds(reader.rest());
    kinds.skip(counts->transitions * 8);
    std::size_t kind = 0;
    if (before > 0) {
        kinds.skip(before - 1);
        kind = static_cast<std::size_t>(kinds.number(1) & 0xff);
    }
    if (kind >= counts->types) return broken("a transition to an undefined time type");
    Reader types(reader.rest());
    types.skip(counts->transitions * 9 + kind * 6);
    return types.number(4);
}

// A parser of the POSIX text.
class Text {
  public:
    explicit Text(std::string_view text) : rest_(text) {}
    [[nodiscard]] bool done() const { return rest_.empty(); }
    bool take(char letter) {
        if (!rest_.starts_with(letter)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool name() {
        const bool quoted = take('<');
        std::size_t length = 0;
        while (length < rest_.size() &&
               (quoted ? rest_[length] != '>'
                       : std::isalpha(static_cast<unsigned char>(rest_[length])) != 0))
            ++length;
        rest_.remove_prefix(length);
        return length >= 3 && (!quoted || take('>'));
    }
    std::optional<std::int64_t> number() {
        std::size_t length = 0;
        std::int64_t value = 0;
        for (; length < rest_.size() && length < 4 && rest_[length] >= '0' && rest_[length] <= '9';
             ++length)
            value = value * 10 + (rest_[length] - '0');
        rest_.remove_prefix(length);
        return length > 0 ? std::optional(value) : std::nullopt;
    }
    // [+-]hh[:mm[:ss]], in seconds.
    std::optional<std::int64_t> time() {
        const std::int64_t sign = take('-') ? -1 : 1;
        if (sign > 0) take('+');
        const auto hours = number();
        if (!hours || *hours > 167) return std::nullopt;
        std::int64_t seconds = *hours * 3600;
        for (const std::int64_t unit : {60, 1}) {
            if (!take(':')) break;
            const auto part = number();
            if (!part || *part > 59) return std::nullopt;
            seconds += *part * unit;
        }
        return sign * seconds;
    }

  private:
    std::string_view rest_;
};

// A rule for when clocks change each year, as seconds of that year's local time since 1970.
struct ChangeRule {
    enum class Kind { MonthWeekDay, JulianDay, DayOfYear } kind = Kind::MonthWeekDay;
    unsigned month = 1, week = 1, day = 0;
    std::int64_t time_s = 7200;

    [[nodiscard]] std::int64_t in_year(std::chrono::year year) const {
        using namespace std::chrono;
        sys_days date;
        if (kind == Kind::MonthWeekDay) {
            const std::chrono::month in{month};
            const std::chrono::weekday on{day};
            date = week == 5 ? sys_days{year / in / on[last]} : sys_days{year / in / on[week]};
        } else {
            // "Jn" counts from 1 and never counts February 29.
            const bool skips = kind == Kind::JulianDay && year.is_leap() && day >= 60;
            date = sys_days{year / January / 1} +
                   days{day - (kind == Kind::JulianDay ? 1 : 0) + (skips ? 1 : 0)};
        }
        return date.time_since_epoch().count() * day_s + time_s;
    }
};

std::optional<ChangeRule> read_change(Text& text) {
    ChangeRule rule;
    std::optional<std::int64_t> month = 1, week = 1, day;
    if (text.take('M')) {
        month = text.number();
        if (!month || !text.take('.')) return std::nullopt;
        week = text.number();
        if (!week || !text.take('.')) return std::nullopt;
        day = text.number();
        if (*month < 1 || *month > 12 || *week < 1 || *week > 5 || !day || *day > 6)
            return std::nullopt;
    } else {
        rule.kind = text.take('J') ? ChangeRule::Kind::JulianDay : ChangeRule::Kind::DayOfYear;
        day = text.number();
        if (!day || *day > 365 || (rule.kind == ChangeRule::Kind::JulianDay && *day == 0))
            return std::nullopt;
    }
    rule.month = static_cast<unsigned>(*month);
    rule.week = static_cast<unsigned>(*week);
    rule.day = static_cast<unsigned>(*day);
    if (text.take('/')) {
        const auto time = text.time();
        if (!time) return std::nullopt;
        rule.time_s = *time;
    }
    return rule;
}

}  // namespace

Result<std::int64_t> posix_zone_offset_s(const std::string& posix, std::int64_t at_unix_s) {
    const auto wrong = [&] {
        return broken("\"" + printable(posix.substr(0, 100)) + "\" is not a POSIX time zone");
    };
    Text text(posix);
    // POSIX counts west of Greenwich as positive.
    if (!text.name()) return wrong();
    const auto standard = text.time();
    if (!standard) return wrong();
    if (text.done()) return -*standard;
    if (!text.name()) return wrong();
    std::int64_t summer = *standard - 3600;
    if (!text.take(',')) {
        const auto given = text.time();
        if (!given || !text.take(',')) return wrong();
        summer = *given;
    }
    const auto begin = read_change(text);
    if (!begin || !text.take(',')) return wrong();
    const auto end = read_change(text);
    if (!end || !text.done()) return wrong();
    const auto day = std::chrono::floor<std::chrono::days>(
        std::chrono::sys_seconds{std::chrono::seconds{at_unix_s - *standard}});
    const std::chrono::year year = std::chrono::year_month_day{day}.year();
    const std::int64_t summer_begin_s = begin->in_year(year) + *standard;
    const std::int64_t summer_end_s = end->in_year(year) + summer;
    const bool is_summer = summer_begin_s < summer_end_s
                               ? at_unix_s >= summer_begin_s && at_unix_s < summer_end_s
                               : at_unix_s >= summer_begin_s || at_unix_s < summer_end_s;
    return is_summer ? -summer : -*standard;
}

Status check_zone_name(const std::string& zone) {
    if (is_name(zone)) return success();
    return make_error(ErrorKind::Invalid,
                      "\"" + printable(zone.substr(0, zone_limit_bytes)) +
                          "\" is not the name of a time zone, such as Europe/Berlin or UTC");
}

Result<std::int64_t> zone_offset_s(const std::string& zone, std::int64_t at_unix_s,
                                   const std::string& folder) {
    // Works without a database too.
    if (zone == "UTC") return 0;
    TRY(check_zone_name(zone));
    const auto bytes = read_file(folder + "/" + zone, file_limit_bytes);
    // The folder of the zones also has lists and version files.
    if (!bytes || !bytes->starts_with(magic))
        return make_error(ErrorKind::NotFound,
                          "the server's machine has no time zone \"" + zone + "\"");
    return offset_of_file(*bytes, at_unix_s);
}

}  // namespace lagtrap::server
