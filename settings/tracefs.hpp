// The kernel's tracepoints, as tracefs lists them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lagtrap::settings {

class Tracefs {
  public:
    // The first of `roots` whose events folder can be read; nothing where there is none.
    [[nodiscard]] static std::optional<Tracefs> find(const std::vector<std::filesystem::path>& roots);

    [[nodiscard]] bool has(std::string_view category, std::string_view name) const;
    // Sorted names; empty for an unknown category.
    [[nodiscard]] std::vector<std::string> categories() const;
    [[nodiscard]] std::vector<std::string> names(std::string_view category) const;
    // A tracepoint's own fields that are numbers, without those common to all; nothing where they can not be read.
    [[nodiscard]] std::optional<std::vector<std::string>> number_fields(std::string_view category,
                                                                        std::string_view name) const;

  private:
    explicit Tracefs(std::filesystem::path events) : events_(std::move(events)) {}
    std::filesystem::path events_;
};

}  // namespace lagtrap::settings
