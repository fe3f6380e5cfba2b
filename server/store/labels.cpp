#include "server/store/labels.hpp"

#include <set>

#include "core/text.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t text_limit_bytes = 1024;
constexpr std::size_t reason_limit_bytes = 500;
constexpr std::size_t remembered_labels_limit = 200'000;
// Limits of distinct names: programs have few events and stages, but thread names may count up
// forever.
constexpr std::int64_t names_limit_of_events = 10'000;
constexpr std::int64_t names_limit = 100'000;
// One sender may create at most this fraction of the names, so that one machine cannot fill the
// table.
constexpr std::int64_t label_share_of_sender = 4;
// A run may be a day ahead of the server's clock, and servers refresh cached labels once a day.
constexpr std::uint64_t days_kept_longer = 3;
constexpr std::string_view further_names = "(further names)";

std::int64_t limit_of(LabelKind kind) {
    return kind == LabelKind::Event || kind == LabelKind::Stage ? names_limit_of_events
                                                                : names_limit;
}

Result<std::optional<std::uint32_t>> select_number(Connection& connection, const LabelName& name) {
    TRY_ASSIGN(const auto found,
               connection.number("SELECT id FROM label WHERE kind = $1 AND text = $2",
                                 {name.first, name.second}));
    if (!found) return std::optional<std::uint32_t>();
    return std::optional(static_cast<std::uint32_t>(*found));
}

Result<std::uint32_t> insert_label(Connection& connection, const LabelName& name,
                                   const std::string& sender, std::uint64_t day) {
    TRY(
        connection.execute("INSERT INTO label(kind, text, sender, last_day) VALUES($1, $2, $3, $4) "
                           "ON CONFLICT(kind, text) DO UPDATE SET last_day = excluded.last_day",
                           {name.first, name.second, sender, day}));
    TRY_ASSIGN(const auto number, select_number(connection, name));
    if (!number) return make_error(ErrorKind::System, "database: a new label is not there");
    return *number;
}

// Does not cut within a character: continuation bytes begin with the bits 10.
std::string cut_at(std::string text, std::size_t limit_bytes) {
    if (text.size() <= limit_bytes) return text;
    std::size_t end = limit_bytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    return text;
}

// How many names of each kind there are, in total and of one sender; counted once per transaction.
class LabelRoom {
  public:
    explicit LabelRoom(std::string sender) : sender_(std::move(sender)) {}

    // Takes room for one more name; false if there is none.
    [[nodiscard]] Result<bool> take(Connection& connection, LabelKind kind) {
        auto found = counts_.find(kind);
        if (found == counts_.end()) {
            TRY_ASSIGN(const auto all,
                       connection.number("SELECT count(*) FROM label WHERE kind = $1", {kind}));
            TRY_ASSIGN(
                const auto own,
                connection.number("SELECT count(*) FROM label WHERE kind = $1 AND sender = $2",
                                  {kind, sender_}));
            found = counts_.emplace(kind, Counts{all.value_or(0), own.value_or(0)}).first;
        }
        Counts& counts = found->second;
        if (counts.all >= limit_of(kind)) return false;
        if (!sender_.empty() && counts.own >= limit_of(kind) / label_share_of_sender) return false;
        ++counts.all;
        ++counts.own;
        return true;
    }

  private:
    struct Counts {
        std::int64_t all = 0, own = 0;
    };
    const std::string sender_;
    std::map<LabelKind, Counts> counts_;
};

}  // namespace

std::string stored_text(std::string_view raw) {
    return cut_at(printable(raw.substr(0, text_limit_bytes)), text_limit_bytes);
}

std::string stored_reason(std::string_view raw) {
    return cut_at(stored_text(raw), reason_limit_bytes);
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
    }
    return lines;
}

std::string search_text(std::string_view text) {
    std::string folded(text);
    for (char& letter : folded)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return folded;
}

void Labels::remember(const LabelName& name, const Known& known) {
    const std::lock_guard lock(mutex_);
    if (numbers_.size() >= remembered_labels_limit) numbers_.clear();
    if (texts_.size() >= remembered_labels_limit) texts_.clear();
    const auto [place, is_new] = numbers_.emplace(name, known);
    if (!is_new && place->second.day <= known.day) place->second = known;
    texts_.emplace(known.number, name.second);
}

std::optional<Labels::Known> Labels::recall(const LabelName& name) {
    const std::lock_guard lock(mutex_);
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

// Runs and their details are not checked: they are newer than their labels' last day, and removed
// by age.
Status Labels::remove_unused(Connection& connection, std::uint64_t day) {
    if (day < days_kept_longer) return success();
    TRY(connection.execute(
        "DELETE FROM label WHERE last_day < $1 AND id NOT IN (SELECT label FROM seen UNION SELECT "
        "event FROM rollup UNION SELECT build FROM rollup UNION SELECT host FROM batch UNION "
        "SELECT event FROM cause UNION SELECT host FROM cause_delay UNION SELECT build FROM "
        "cause_delay UNION SELECT holder FROM cause_delay UNION SELECT event FROM delay UNION "
        "SELECT host FROM delay UNION SELECT process FROM delay UNION SELECT thread FROM delay "
        "UNION SELECT account FROM delay UNION SELECT build FROM delay UNION SELECT unit FROM "
        "delay UNION SELECT event FROM delay_edge UNION SELECT unit FROM delay_edge UNION SELECT "
        "process FROM delay_edge UNION SELECT thread FROM delay_edge)",
        {day - days_kept_longer}));
    return success();
}

Status Labels::resolve(std::map<LabelName, std::uint32_t>& wanted, const std::string& sender,
                       std::uint64_t day) {
    std::vector<std::pair<const LabelName, std::uint32_t>*> missing;
    for (auto& entry : wanted) {
        if (const auto known = recall(entry.first); known && known->day >= day) {
            entry.second = known->number;
        } else {
            missing.push_back(&entry);
        }
    }
    if (missing.empty()) return success();
    // In the order of the map, so that two servers adding the same names cannot deadlock.
    std::set<const void*> further;  // without room for a name of their own
    const Status written = database_.write([&](Connection& connection) -> Status {
        further.clear();
        LabelRoom room(stored_text(sender));
        for (auto* entry : missing) {
            TRY_ASSIGN(auto number, select_number(connection, entry->first));
            const LabelName& name = entry->first;
            if (number)
                TRY(connection.execute(
                    "UPDATE label SET last_day = $1 WHERE id = $2 AND last_day < $1",
                    {day, *number}));
            if (!number) {
                TRY_ASSIGN(const bool has_room, room.take(connection, name.first));
                const LabelName kept = has_room ? name : LabelName(name.first, further_names);
                TRY_ASSIGN(number,
                           insert_label(connection, kept,
                                        has_room ? stored_text(sender) : std::string(), day));
                if (!has_room) further.insert(entry);
            }
            entry->second = *number;
        }
        return success();
    });
    if (!written) return written.error();
    for (const auto* entry : missing)
        if (!further.contains(entry)) remember(entry->first, {entry->second, day});
    return success();
}

Result<std::optional<std::uint32_t>> Labels::find(Connection& connection, LabelKind kind,
                                                  std::string_view text) {
    const LabelName name(kind, stored_text(text));
    if (const auto known = recall(name)) return std::optional(known->number);
    TRY_ASSIGN(const auto number, select_number(connection, name));
    if (number) remember(name, {*number, 0});
    return number;
}

Result<std::string> Labels::text_of(Connection& connection, std::uint32_t number) {
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = texts_.find(number); found != texts_.end()) return found->second;
    }
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT kind, text FROM label WHERE id = $1", {number}));
    TRY_ASSIGN(const bool found, rows->next());
    if (!found) return std::string();
    const LabelName name(static_cast<LabelKind>(rows->integer(0)), rows->text(1));
    remember(name, {number, 0});
    return name.second;
}

}  // namespace lagtrap::server
