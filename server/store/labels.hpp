// Names of events, hosts, users and so on as numbers: the table `label` and what is remembered of it.
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

// Numbers are in the database and never change.
enum class LabelKind : std::uint8_t { Event = 1, Host, User, Build, Process, Executable, Thread, Stage, Unit };

// With the letters of ASCII in lower case: names are searched without regard to it.
[[nodiscard]] std::string search_text(std::string_view text);

using LabelName = std::pair<LabelKind, std::string>;

// Text as it is stored: printable, at most 1,024 bytes.
[[nodiscard]] std::string stored_text(std::string_view raw);
// Of why something failed.
[[nodiscard]] std::string stored_reason(std::string_view raw);
// Lists are stored as lines, each ended by a newline.
[[nodiscard]] std::vector<std::string> lines_of(std::string_view stored);

// Any thread. A label is never removed, so what is remembered stays right.
class Labels {
  public:
    explicit Labels(Database& database) : database_(database) {}

    // Fills in the numbers; makes those that are not there, in a transaction of its own (never inside write()).
    // Beyond 10,000 names of events and of stages, and 100,000 of each other kind, further ones have the number of
    // "(further names)"; so have those of a sender that has made a quarter of these itself. An empty sender is the server.
    [[nodiscard]] Status resolve(std::map<LabelName, std::uint32_t>& wanted, const std::string& sender);
    // Nothing if the name is not there.
    [[nodiscard]] Result<std::optional<std::uint32_t>> find(Connection& connection, LabelKind kind,
                                                            std::string_view text);
    [[nodiscard]] Result<std::string> text_of(Connection& connection, std::uint32_t number);

  private:
    void remember(const LabelName& name, std::uint32_t number);
    [[nodiscard]] std::optional<std::uint32_t> recall(const LabelName& name);

    Database& database_;
    std::mutex mutex_;  // guards the rest
    std::map<LabelName, std::uint32_t> numbers_;
    std::unordered_map<std::uint32_t, std::string> texts_;
};

}  // namespace lagtrap::server
