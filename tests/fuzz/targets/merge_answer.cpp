#include "daemon/merges/merge_answer.hpp"

#include <cstdint>
#include <cstdlib>

#include "core/text.hpp"
#include "spool/spool.hpp"
#include "tests/fuzz/memory_file.hpp"

// Whatever a helper prints, an accepted name is an entry of the spool, and messages contain no
// terminal control characters.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto merged =
        lagtrap::daemon::parse_merge_answer(lagtrap::fuzz::text_of(data, size), "/spool/ready");
    if (!merged) {
        if (lagtrap::printable(merged.error().message) != merged.error().message) std::abort();
        return 0;
    }
    const std::filesystem::path path = merged->path;
    const bool sound = path.parent_path() == "/spool/ready" && path == path.lexically_normal() &&
                       lagtrap::spool::parse_entry_name(path.filename().string()) &&
                       merged->digest.size() == 64 &&
                       lagtrap::printable(merged->path) == merged->path;
    if (!sound) std::abort();
    return 0;
}
