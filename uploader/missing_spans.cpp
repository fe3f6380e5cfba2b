#include "uploader/missing_spans.hpp"

#include <spdlog/spdlog.h>

#include "uploader/span_maker.hpp"

namespace lagtrap::uploader {
namespace {

Result<std::set<std::string>> sessions_with_spans(const spool::Spool& spool) {
    std::set<std::string> sessions;
    for (const spool::EntryState state : {spool::EntryState::Ready, spool::EntryState::Sending,
                                          spool::EntryState::Sent, spool::EntryState::Rejected}) {
        TRY_ASSIGN(const auto entries, spool.list(state));
        for (const spool::SpoolEntry& entry : entries)
            if (entry.kind == spool::EntryKind::Spans)
                sessions.insert(spool::parse_entry_name(entry.name)->id);
    }
    return sessions;
}

}  // namespace

Status MissingSpans::add(const spool::Spool& spool, const std::vector<spool::SpoolEntry>& ready,
                         const std::string& lagtrap_program,
                         const std::function<bool()>& keep_going) {
    TRY_ASSIGN(const auto known, sessions_with_spans(spool));
    for (const spool::SpoolEntry& bundle : ready) {
        if (bundle.kind != spool::EntryKind::Bundle || failed_.contains(bundle.name)) continue;
        const std::string session = spool::parse_entry_name(bundle.name)->id;
        if (known.contains(session)) continue;
        if (!keep_going()) break;
        const auto path = spool.path_of(spool::EntryState::Ready, bundle.name);
        const auto spans = make_spans(lagtrap_program, path, keep_going);
        if (!keep_going()) break;
        if (!spans) {
            failed_.insert(bundle.name);
            spdlog::error("{}: no spans for the collector: {}", bundle.name, spans.error().message);
            continue;
        }
        TRY(spool.add_spans(session, *spans));
    }
    return success();
}

}  // namespace lagtrap::uploader
