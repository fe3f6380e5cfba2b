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

// Numbers are in the database, never change, and are given to no other name.
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

// Any thread, and any server of the same database. A label is only removed days after the last time that somebody resolved it, and
// what is remembered is resolved anew each day, so that a number is that of a label that is there.
class Labels {
  public:
    explicit Labels(Database& database) : database_(database) {}

    // Fills in the numbers; makes those that are not there, in a transaction of its own (never inside write()).
    // Beyond 10,000 names of events and of stages, and 100,000 of each other kind, further ones have the number of
    // "(further names)"; so have those of a sender that has made a quarter of these itself. An empty sender is the server.
    // `day`: since 1970, when what has these names came.
    [[nodiscard]] Status resolve(std::map<LabelName, std::uint32_t>& wanted, const std::string& sender,
                                 std::uint64_t day);
    // Frees those that nothing has any more where all that came before `day` is gone, but for what refers to them itself.
    [[nodiscard]] static Status remove_unused(Connection& connection, std::uint64_t day);
    // Nothing if the name is not there.
    [[nodiscard]] Result<std::optional<std::uint32_t>> find(Connection& connection, LabelKind kind,
                                                            std::string_view text);
    [[nodiscard]] Result<std::string> text_of(Connection& connection, std::uint32_t number);

  private:
    struct Known {
        std::uint32_t number = 0;
        std::uint64_t day = 0;  // when it was resolved last
    };
    void remember(const LabelName& name, const Known& known);
    [[nodiscard]] std::optional<Known> recall(const LabelName& name);

    Database& database_;
    std::mutex mutex_;  // guards the rest
    std::map<LabelName, Known> numbers_;
    std::unordered_map<std::uint32_t, std::string> texts_;
};

}  // namespace lagtrap::server
