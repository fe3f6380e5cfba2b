// Stores readable names of builds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class SqlSession;

// A readable name of a build, such as "v1.2".
struct BuildLabel {
    std::string build;
    std::string name;
    std::string by;  // account or token; may be empty
    std::uint64_t at_realtime_ns = 0;
};

inline constexpr std::size_t build_name_limit_bytes = 64;

// Shows only what is visible. The rules of Store apply.
class BuildStore {
  public:
    BuildStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // Sets the name of a build; an empty name removes it. Denied for a build that is not visible.
    [[nodiscard]] Status label_build(const BuildLabel& label) const;
    // Names builds of runs or delays that have no name yet. Denied unless everything is
    // visible.
    [[nodiscard]] Status name_builds(const std::vector<BuildLabel>& labels) const;
    // The newest 10,000, newest first.
    [[nodiscard]] Result<std::vector<BuildLabel>> build_labels() const;

  private:
    // Sorted; for people who do not see everything.
    [[nodiscard]] Result<std::vector<std::string>> visible_builds() const;

    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
