#include "server/api/watch_summaries.hpp"

#include <algorithm>

namespace lagtrap::server {
namespace {

constexpr std::uint64_t bytes_at_once = 4 << 20;

}  // namespace

std::shared_ptr<WatchSummaries::Kept> WatchSummaries::kept_of(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto known =
        std::find_if(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept->id == id; });
    if (known != kept_.end()) {
        kept_.splice(kept_.begin(), kept_, known);
    } else {
        kept_.push_front(std::make_shared<Kept>());
        kept_.front()->id = id;
        if (kept_.size() > kept_limit) kept_.pop_back();
    }
    return kept_.front();
}

Status WatchSummaries::read_on(const ReadParts& read_parts, Kept& kept) {
    for (;;) {
        TRY_ASSIGN(const auto parts, read_parts(kept.last_part, bytes_at_once));
        if (parts.empty()) return success();
        for (const StoredObjectsPart& part : parts) {
            kept.objects.add(part.lines);
            kept.bytes += part.lines.size();
        }
        kept.last_part = parts.back().number;
    }
}

Result<reports::WatchedObjects> WatchSummaries::read(const ReadParts& read_parts,
                                                     const ObjectWatch& watch) {
    const std::shared_ptr<Kept> kept = kept_of(watch.id);
    const std::lock_guard lock(kept->mutex);
    const std::uint64_t received = watch.received_parts.value_or(0);
    const bool known = kept->last_part != 0;
    TRY(read_on(read_parts, *kept));
    const bool one_came_late = kept->objects.parts() + kept->gone < received;
    const bool anew = known && (one_came_late || kept->bytes > lines_limit_bytes_);
    if (anew) {
        kept->objects = {};
        kept->last_part = 0;
        kept->bytes = 0;
        TRY(read_on(read_parts, *kept));
    }
    if (!known || anew) kept->gone = received - std::min(received, kept->objects.parts());
    return kept->objects;
}

}  // namespace lagtrap::server
