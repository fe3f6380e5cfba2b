// Numbers for names of events, hosts, users and so on: the table `label` and a cache of it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "server/store/database.hpp"

namespace lagtrap::server {

// The values are stored in the database, must never change, and must not be reused.
enum class LabelKind : std::uint8_t {
    Event = 1,
    Host,
    User,
    Build,
    Process,
    Executable,
    Thread,
    Stage,
    Unit
};

// In ASCII lower case, for searches that ignore case.
[[nodiscard]] std::string search_text(std::string_view text);

using LabelName = std::pair<LabelKind, std::string>;

// Text as stored: printable, at most 1,024 bytes.
[[nodiscard]] std::string stored_text(std::string_view raw);
// As stored_text(), for the reason of a failure.
[[nodiscard]] std::string stored_reason(std::string_view raw);
// Lists are stored as lines, each ended by a newline.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view stored);

// Any thread, and any server of the same database. A label is removed only days after it was last
// resolved, and cached labels are resolved again each day, so a number always refers to an existing
// label.
class Labels {
  public:
    explicit Labels(Database& database) : database_(database) {}

    // Fills in the numbers. Creates missing labels in its own transaction (never call it inside
    // write()). Beyond 10,000 names of events and of stages, and 100,000 of each other kind, new
    // names share the number of "(further names)", as do new names of a sender that has created a
    // quarter of them. An empty sender is the server itself. `day` is the day since 1970 on which
    // data with these names arrived.
    [[nodiscard]] Status resolve(std::map<LabelName, std::uint32_t>& wanted,
                                 const std::string& sender, std::uint64_t day);
    // Removes labels that are no longer used, once all data from before `day` is gone.
    [[nodiscard]] static Status remove_unused(Connection& connection, std::uint64_t day);
    // nullopt if there is no such name.
    [[nodiscard]] Result<std::optional<std::uint32_t>> find(Connection& connection, LabelKind kind,
                                                            std::string_view text);
    [[nodiscard]] Result<std::string> text_of(Connection& connection, std::uint32_t number);

  private:
    struct Known {
        std::uint32_t number = 0;
        std::uint64_t day = 0;  // when it was last resolved
    };
    void remember(const LabelName& name, const Known& known);
    [[nodiscard]] std::optional<Known> recall(const LabelName& name);

    Database& database_;
    std::mutex mutex_;  // guards the members below
    std::map<LabelName, Known> numbers_;
    std::unordered_map<std::uint32_t, std::string> texts_;
};

}  // namespace lagtrap::server
