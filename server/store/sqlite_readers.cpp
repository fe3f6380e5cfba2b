#include "server/store/sqlite_readers.hpp"

#include <algorithm>
#include <iterator>

namespace lagtrap::server {
namespace {

constexpr std::size_t idle_readers_limit = 8;
constexpr std::uint64_t cache_parts_of_reader = 4;

}  // namespace

Result<std::unique_ptr<SqliteConnection>> SqliteReaders::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            auto reader = std::move(idle_.back().connection);
            idle_.pop_back();
            return reader;
        }
    }
    return SqliteConnection::open(path_, SqliteConnection::Mode::Read,
                                  cache_bytes_ / cache_parts_of_reader);
}

void SqliteReaders::give_back(std::unique_ptr<SqliteConnection> reader) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < idle_readers_limit)
        idle_.push_back({std::move(reader), std::chrono::steady_clock::now()});
}

std::vector<SqliteReaders::IdleReader> SqliteReaders::take_rested() {
    const std::lock_guard lock(mutex_);
    const auto busy_since = std::chrono::steady_clock::now() - rest_after_;
    const auto first_busy = std::find_if(idle_.begin(), idle_.end(), [&](const IdleReader& reader) {
        return reader.since > busy_since;
    });
    std::vector<IdleReader> rested(std::make_move_iterator(idle_.begin()),
                                   std::make_move_iterator(first_busy));
    idle_.erase(idle_.begin(), first_busy);
    return rested;
}

// Outside of the lock, because closing frees the caches.
void SqliteReaders::close_rested() { take_rested().clear(); }

}  // namespace lagtrap::server
