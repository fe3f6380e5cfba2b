// Recordings that nobody has agreed to yet (<confirm>). They are in a folder in memory, in the
// order in which their questions are asked, and reach the spool when the answer is yes.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "daemon/merges/merge_queue.hpp"

namespace lagtrap::daemon {

// Use it only on the io_context's thread. It has no timer: call answer_overdue() when due() is
// over.
class Unanswered {
  public:
    using Clock = std::chrono::steady_clock;
    // At most this many at once, the one being recorded included, and this many bytes each.
    static constexpr std::size_t most = 2;
    static constexpr std::uint64_t recording_limit_bytes = 64ULL << 20;

    struct Question {
        std::string session;
        std::string event;
        std::string process;  // of the run, in words
        Clock::time_point until;
        bool complete = false;  // the recording has ended
    };
    // Complete recordings that were agreed to. Move them out of the folder.
    using Kept = std::vector<MergeQueue::Work>;

    // `folder` is made with the first question; what is left in it is removed.
    explicit Unanswered(std::filesystem::path folder);
    // Removes recordings without an answer.
    ~Unanswered();
    Unanswered(const Unanswered&) = delete;
    Unanswered& operator=(const Unanswered&) = delete;

    [[nodiscard]] bool has_room() const { return entries_.size() < most; }
    // Where the recording of this session goes.
    [[nodiscard]] std::filesystem::path folder_of(const std::string& session) const;
    // Asks about a recording that has just begun or is about to begin.
    [[nodiscard]] Status ask(Question question);
    // The recording of a question is complete. It is kept here until the answer, unless that has
    // come.
    [[nodiscard]] Kept take_recorded(MergeQueue::Work work);
    // The recording failed and left nothing.
    void forget(const std::string& session);

    // The oldest open question; null if there is none.
    [[nodiscard]] const Question* open() const;
    [[nodiscard]] bool knows(const std::string& session) const;
    // Answers the open question about this session, or the oldest one if `session` is empty.
    // ErrorKind::Invalid if there is none.
    [[nodiscard]] Result<Kept> approve(const std::string& session = {});
    // Returns the session of a recording that must end because it was declined; nullopt if it is
    // complete.
    [[nodiscard]] Result<std::optional<std::string>> decline(const std::string& session = {});
    // Number of questions answered with no.
    [[nodiscard]] std::uint64_t declined() const { return declined_; }
    // When the first question is answered with yes, because nobody did.
    [[nodiscard]] std::optional<Clock::time_point> due() const;
    [[nodiscard]] Kept answer_overdue(Clock::time_point now);

  private:
    enum class Answer { None, Yes, No };
    struct Entry {
        Question question;
        Answer answer = Answer::None;
        std::optional<MergeQueue::Work> recorded{};  // set when it is complete
    };
    [[nodiscard]] std::deque<Entry>::iterator find(const std::string& session);
    [[nodiscard]] Result<std::deque<Entry>::iterator> find_open(const std::string& session);
    void settle(std::deque<Entry>::iterator entry, Kept& kept);

    const std::filesystem::path folder_;
    std::deque<Entry> entries_;
    std::uint64_t declined_ = 0;
};

}  // namespace lagtrap::daemon
