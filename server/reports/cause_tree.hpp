// The call stacks of many runs as one tree, with the time of each run in it. Internal to
// server/reports/.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/reports/causes.hpp"
#include "server/reports/tree_names.hpp"
#include "server/reports/wait_notes.hpp"

namespace lagtrap::server::reports {

// Node 0 is the root. Parents come before their children.
struct TreeNode {
    std::uint32_t parent = 0;
    std::uint32_t name = 0;
};

struct TreeEntry {
    std::uint32_t node = 0;  // end of the path
    // thread that the run's own thread waits for, the one with most time; into texts()
    std::uint32_t awaited = 0;
    std::uint64_t time_ns = 0;
};

struct TreeRun {
    bool delayed = false;
    std::uint32_t host = 0, user = 0, build = 0, bundle = 0;  // indices into texts()
    std::uint32_t delay = 0;
    std::uint64_t begin_realtime_ns = 0;
    // recorded part of its duration, the sum of its entries
    std::uint64_t recorded_ns = 0;
    bool cut = false;                                // not all of it was recorded
    std::size_t entries_begin = 0, entries_end = 0;  // each node once
};

class CauseTree {
  public:
    CauseTree(std::size_t max_nodes, std::size_t max_entries);

    // Skips a run of which nothing was recorded.
    void add(const ProfiledRun& run, const analysis::RunProfile& profile);

    [[nodiscard]] const std::vector<TreeName>& names() const { return names_.all(); }
    [[nodiscard]] const std::vector<TreeNode>& nodes() const { return nodes_; }
    [[nodiscard]] const std::vector<TreeRun>& runs() const { return runs_; }
    [[nodiscard]] const std::vector<TreeEntry>& entries() const { return entries_; }
    [[nodiscard]] const std::vector<std::string>& texts() const {
        return texts_.all();
    }  // 0 is empty
    // of delayed runs
    [[nodiscard]] const WaitNotes& waits() const { return waits_; }
    [[nodiscard]] std::uint64_t runs_left_out() const { return runs_left_out_; }
    [[nodiscard]] std::uint64_t paths_cut() const { return paths_cut_; }

  private:
    struct Mapping;
    std::uint32_t awaited_by(const analysis::RunProfile& profile,
                             const analysis::ProfileEntry& entry);
    std::uint32_t child_of(std::uint32_t node, std::uint32_t name);
    std::uint32_t node_of(Mapping& mapping, std::uint32_t base, std::uint32_t local);
    std::uint32_t place_of(Mapping& mapping, std::uint32_t base, std::uint32_t local);
    // Notes the entry's waits with `noted_ns`, unless it is 0.
    std::uint32_t end_of(Mapping& mapping, const analysis::ProfileEntry& entry,
                         std::uint64_t noted_ns);
    Mapping mapping_of(const analysis::RunProfile& profile);

    struct Hash {
        std::size_t operator()(std::uint64_t key) const { return key * 0x9e3779b97f4a7c15ULL >> 7; }
    };

    std::size_t max_nodes_;
    std::size_t max_entries_;
    TreeNames names_;
    std::vector<TreeNode> nodes_;
    std::unordered_map<std::uint64_t, std::uint32_t, Hash> children_;
    std::vector<TreeRun> runs_;
    std::vector<TreeEntry> entries_;
    WaitNotes waits_;
    TreeTexts texts_;
    std::uint64_t runs_left_out_ = 0;
    std::uint64_t paths_cut_ = 0;
};

}  // namespace lagtrap::server::reports
