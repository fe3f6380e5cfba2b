#include "daemon/capture/unanswered.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

}  // namespace

Unanswered::Unanswered(fs::path folder) : folder_(std::move(folder)) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

Unanswered::~Unanswered() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

fs::path Unanswered::folder_of(const std::string& session) const { return folder_ / session; }

Status Unanswered::ask(Question question) {
    TRY(make_directories(folder_, 0700));
    entries_.push_back({std::move(question)});
    return success();
}

std::deque<Unanswered::Entry>::iterator Unanswered::find(const std::string& session) {
    return std::find_if(entries_.begin(), entries_.end(),
                        [&](const Entry& entry) { return entry.question.session == session; });
}

bool Unanswered::knows(const std::string& session) const {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return entry.question.session == session; });
}

const Unanswered::Question* Unanswered::open() const {
    for (const Entry& entry : entries_)
        if (entry.answer == Answer::None) return &entry.question;
    return nullptr;
}

Unanswered::Kept Unanswered::take_recorded(MergeQueue::Work work) {
    Kept kept;
    const auto found = find(work.session);
    if (found == entries_.end()) return kept;
    found->recorded = std::move(work);
    found->question.complete = true;
    settle(found, kept);
    return kept;
}

void Unanswered::forget(const std::string& session) {
    const auto found = find(session);
    if (found != entries_.end()) entries_.erase(found);
}

Result<std::deque<Unanswered::Entry>::iterator> Unanswered::find_open(const std::string& session) {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.answer == Answer::None &&
               (session.empty() || entry.question.session == session);
    });
    if (found == entries_.end())
        return make_error(ErrorKind::Invalid, "no breach is waiting for an answer");
    return found;
}

Result<Unanswered::Kept> Unanswered::approve(const std::string& session) {
    TRY_ASSIGN(const auto found, find_open(session));
    found->answer = Answer::Yes;
    Kept kept;
    settle(found, kept);
    return kept;
}

Result<std::optional<std::string>> Unanswered::decline(const std::string& session) {
    TRY_ASSIGN(const auto found, find_open(session));
    found->answer = Answer::No;
    ++declined_;
    std::optional<std::string> recording;
    if (!found->question.complete) recording = found->question.session;
    Kept none;
    settle(found, none);
    return recording;
}

// Once the recording is complete and the answer is there.
void Unanswered::settle(std::deque<Entry>::iterator entry, Kept& kept) {
    if (entry->answer == Answer::None || !entry->recorded) return;
    MergeQueue::Work work = std::move(*entry->recorded);
    const bool wanted = entry->answer == Answer::Yes;
    entries_.erase(entry);
    if (wanted) return kept.push_back(std::move(work));
    std::error_code ignored;
    fs::remove_all(work.capture, ignored);
}

std::optional<Unanswered::Clock::time_point> Unanswered::due() const {
    std::optional<Clock::time_point> first;
    for (const Entry& entry : entries_)
        if (entry.answer == Answer::None)
            first = std::min(first.value_or(entry.question.until), entry.question.until);
    return first;
}

Unanswered::Kept Unanswered::answer_overdue(Clock::time_point now) {
    Kept kept;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        if (entry->answer != Answer::None || entry->question.until > now) {
            ++entry;
            continue;
        }
        entry->answer = Answer::Yes;
        settle(entry, kept);
        entry = entries_.begin();
    }
    return kept;
}

}  // namespace lagtrap::daemon
