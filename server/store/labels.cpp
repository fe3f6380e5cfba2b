#include "server/store/labels.hpp"

#include <set>

#include "core/text.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t text_limit_bytes = 1024;
constexpr std::size_t reason_limit_bytes = 500;
constexpr std::size_t remembered_labels_limit = 200'000;
// What a program does not know by name any more: events and stages are few by nature, threads may count up for ever.
constexpr std::int64_t names_limit_of_events = 10'000;
constexpr std::int64_t names_limit = 100'000;
// A sender may make one in so many of these names, so that one machine cannot fill the table for all others.
constexpr std::int64_t label_share_of_sender = 4;
constexpr std::string_view further_names = "(further names)";

std::int64_t limit_of(LabelKind kind) {
    return kind == LabelKind::Event || kind == LabelKind::Stage ? names_limit_of_events : names_limit;
}

Result<std::optional<std::uint32_t>> select_number(Connection& connection, const LabelName& name) {
    TRY_ASSIGN(const auto found,
               connection.number("SELECT id FROM label WHERE kind = $1 AND text = $2", {name.first, name.second}));
    if (!found) return std::optional<std::uint32_t>();
    return std::optional(static_cast<std::uint32_t>(*found));
}

Result<std::uint32_t> insert_label(Connection& connection, const LabelName& name, const std::string& sender) {
    TRY(connection.execute(
        "INSERT INTO label(kind, text, sender) VALUES($1, $2, $3) ON CONFLICT(kind, text) DO NOTHING",
        {name.first, name.second, sender}));
    TRY_ASSIGN(const auto number, select_number(connection, name));
    if (!number) return make_error(ErrorKind::System, "database: a new label is not there");
    return *number;
}

// How many names of each kind are there, of all and of one sender; counted once in a transaction.
class LabelRoom {
  public:
    explicit LabelRoom(std::string sender) : sender_(std::move(sender)) {}

    // Whether there is room for one more, which is taken.
    [[nodiscard]] Result<bool> take(Connection& connection, LabelKind kind) {
        auto found = counts_.find(kind);
        if (found == counts_.end()) {
            TRY_ASSIGN(const auto all, connection.number("SELECT count(*) FROM label WHERE kind = $1", {kind}));
            TRY_ASSIGN(const auto own, connection.number("SELECT count(*) FROM label WHERE kind = $1 AND sender = $2",
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
    std::string text = printable(raw.substr(0, text_limit_bytes));
    if (text.size() <= text_limit_bytes) return text;
    std::size_t end = text_limit_bytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return text.substr(0, end);
}

std::string stored_reason(std::string_view raw) { return stored_text(raw).substr(0, reason_limit_bytes); }

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

void Labels::remember(const LabelName& name, std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    if (numbers_.size() >= remembered_labels_limit) numbers_.clear();
    if (texts_.size() >= remembered_labels_limit) texts_.clear();
    numbers_.emplace(name, number);
    texts_.emplace(number, name.second);
}

std::optional<std::uint32_t> Labels::recall(const LabelName& name) {
    const std::lock_guard lock(mutex_);
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

Status Labels::resolve(std::map<LabelName, std::uint32_t>& wanted, const std::string& sender) {
    std::vector<std::pair<const LabelName, std::uint32_t>*> missing;
    for (auto& entry : wanted) {
        if (const auto known = recall(entry.first)) {
            entry.second = *known;
        } else {
            missing.push_back(&entry);
        }
    }
    if (missing.empty()) return success();
    // In the order of the map: two servers that add the same names do not wait for each other crosswise.
    std::set<const void*> further;  // had no place among the names
    const Status written = database_.write([&](Connection& connection) -> Status {
        further.clear();
        LabelRoom room(stored_text(sender));
        for (auto* entry : missing) {
            TRY_ASSIGN(auto number, select_number(connection, entry->first));
            const LabelName& name = entry->first;
            if (!number) {
                TRY_ASSIGN(const bool has_room, room.take(connection, name.first));
                const LabelName kept = has_room ? name : LabelName(name.first, further_names);
                TRY_ASSIGN(number, insert_label(connection, kept, has_room ? stored_text(sender) : std::string()));
                if (!has_room) further.insert(entry);
            }
            entry->second = *number;
        }
        return success();
    });
    if (!written) return written.error();
    for (const auto* entry : missing)
        if (!further.contains(entry)) remember(entry->first, entry->second);
    return success();
}

Result<std::optional<std::uint32_t>> Labels::find(Connection& connection, LabelKind kind, std::string_view text) {
    const LabelName name(kind, stored_text(text));
    if (const auto known = recall(name)) return known;
    TRY_ASSIGN(const auto number, select_number(connection, name));
    if (number) remember(name, *number);
    return number;
}

Result<std::string> Labels::text_of(Connection& connection, std::uint32_t number) {
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = texts_.find(number); found != texts_.end()) return found->second;
    }
    TRY_ASSIGN(const auto rows, connection.query("SELECT kind, text FROM label WHERE id = $1", {number}));
    TRY_ASSIGN(const bool found, rows->next());
    if (!found) return std::string();
    const LabelName name(static_cast<LabelKind>(rows->integer(0)), rows->text(1));
    remember(name, number);
    return name.second;
}

}  // namespace lagtrap::server
