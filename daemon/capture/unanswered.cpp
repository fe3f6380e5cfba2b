#include "daemon/capture/unanswered.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

}  // namespace

Unanswered::Unanswered(Options options) : options_(std::move(options)) {
    std::error_code ignored;
    fs::remove_all(options_.folder, ignored);
}

Unanswered::~Unanswered() {
    std::error_code ignored;
    fs::remove_all(options_.folder, ignored);
}

fs::path Unanswered::folder_of(const std::string& session) const {
    return options_.folder / session;
}

Status Unanswered::ask(Question question) {
    TRY(make_directories(options_.folder, 0700));
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

std::optional<MergeQueue::Work> Unanswered::take_recorded(MergeQueue::Work work) {
    const auto found = find(work.session);
    if (found == entries_.end()) return work;
    found->recorded = std::move(work);
    found->question.complete = true;
    settle(found);
    return std::nullopt;
}

void Unanswered::forget(const std::string& session) {
    const auto found = find(session);
    if (found != entries_.end()) entries_.erase(found);
}

Status Unanswered::answer(const std::string& session, Answer answer) {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.answer == Answer::None &&
               (session.empty() || entry.question.session == session);
    });
    if (found == entries_.end())
        return make_error(ErrorKind::Invalid, "no breach is waiting for an answer");
    found->answer = answer;
    const Question question = found->question;
    settle(found);
    if (answer == Answer::No && !question.complete) options_.stop(question.session);
    return success();
}

Status Unanswered::approve(const std::string& session) { return answer(session, Answer::Yes); }
Status Unanswered::decline(const std::string& session) { return answer(session, Answer::No); }

// Once the recording is complete and the answer is there.
void Unanswered::settle(std::deque<Entry>::iterator entry) {
    if (entry->answer == Answer::None || !entry->recorded) return;
    MergeQueue::Work work = std::move(*entry->recorded);
    const bool wanted = entry->answer == Answer::Yes;
    entries_.erase(entry);
    if (wanted) return options_.keep(std::move(work));
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

void Unanswered::answer_overdue(Clock::time_point now) {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        if (entry->answer != Answer::None || entry->question.until > now) {
            ++entry;
            continue;
        }
        entry->answer = Answer::Yes;
        settle(entry);
        entry = entries_.begin();
    }
}

}  // namespace lagtrap::daemon
