#include "daemon/unwinding/table_queue.hpp"

#include <cmath>
#include <tuple>
#include <utility>

namespace lagtrap::daemon {

TableQueue::Clock::duration TableQueue::had_by(const Turn& turn, Clock::time_point now) {
    const double half_lives = std::chrono::duration<double>(now - turn.counted_at) /
                              std::chrono::duration<double>(half_life);
    return std::chrono::duration_cast<Clock::duration>(turn.had * std::exp2(-half_lives));
}

// Root's programs belong to the machine: root waits for its turn like all users, but may use every
// thread.
bool TableQueue::had_much(std::uint32_t user, Clock::time_point now) const {
    const auto turn = turns_.find(user);
    return user != 0 && turn != turns_.end() && had_by(turn->second, now) >= much_time;
}

void TableQueue::add(TableJob job) {
    Turn& turn = turns_[job.request.user];
    (job.request.watched ? turn.watched : turn.others).push_back(std::move(job));
    ++size_;
}

std::optional<TableJob> TableQueue::next(Clock::time_point now) {
    std::size_t with_much = 0;
    for (const auto& [user, turn] : turns_)
        if (turn.at_work && had_much(user, now)) ++with_much;
    Turn* best = nullptr;
    std::tuple<bool, Clock::duration> rank_of_best;
    for (auto& [user, turn] : turns_) {
        if (turn.at_work || turn.empty()) continue;
        if (had_much(user, now) && with_much + 1 >= threads_ && threads_ > 1) continue;
        const std::tuple rank(turn.watched.empty(), had_by(turn, now));
        if (best && rank >= rank_of_best) continue;
        best = &turn;
        rank_of_best = rank;
    }
    if (!best) return std::nullopt;
    auto& jobs = best->watched.empty() ? best->others : best->watched;
    TableJob job = std::move(jobs.front());
    jobs.pop_front();
    --size_;
    best->at_work = true;
    return job;
}

void TableQueue::done(std::uint32_t user, Clock::duration took, Clock::time_point now) {
    Turn& turn = turns_[user];
    turn.had = had_by(turn, now) + took;
    turn.counted_at = now;
    turn.at_work = false;
    forget_idle(now);
}

void TableQueue::forget_idle(Clock::time_point now) {
    std::erase_if(turns_, [now](const auto& entry) {
        const Turn& turn = entry.second;
        return turn.empty() && !turn.at_work && had_by(turn, now) < std::chrono::milliseconds(1);
    });
}

}  // namespace lagtrap::daemon
