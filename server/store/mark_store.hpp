// Marks runs as hidden or as outliers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/run_store.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

class Connection;
class RollupChange;
class SqlSession;

// Shows only what is visible. The rules of Store apply.
class MarkStore {
  public:
    MarkStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    // Hides runs or shows them again. A rule's mark does not change a run that a person has decided
    // about. Returns how many runs changed; a missing run is not an error.
    [[nodiscard]] Result<std::uint64_t> mark_dirty(const std::vector<DirtyMark>& marks) const;
    // All marks of a run, oldest first.
    [[nodiscard]] Result<std::vector<DirtyMark>> dirty_marks(std::uint64_t run) const;

  private:
    [[nodiscard]] Result<bool> mark_one(Connection& connection, const DirtyMark& mark,
                                        RollupChange& rollups) const;
    [[nodiscard]] Result<bool> is_visible(std::uint64_t run) const;

    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
