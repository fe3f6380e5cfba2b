#include "server/store/sighted_store.hpp"

#include <algorithm>

namespace lagtrap::server {
namespace {

Error not_for_people() {
    return make_error(ErrorKind::Denied, "whoever sees a part of the store does not do the server's own work");
}

template <typename T>
bool sees(const Sight& sight, const T& found) {
    return sight.sees(found.event, found.unit);
}

}  // namespace

Result<AddOutcome> SightedStore::add_batch(const Receipt&, const trace::RunBatch&) { return not_for_people(); }

Result<bool> SightedStore::has_batch(const std::string& digest) { return store_.has_batch(digest); }

Result<EventPage> SightedStore::events(const Filter& filter, const std::string& search, std::uint32_t limit,
                                       std::optional<PageKey> after) {
    return store_.events(seen(filter), search, limit, after);
}

Status SightedStore::activity(const ActivityQuestion& question, const std::function<Status(EventActivity&&)>& take) {
    ActivityQuestion asked = question;
    asked.filter.sight = sight_;
    return store_.activity(asked, take);
}

Result<Losses> SightedStore::losses(const Filter& filter) { return store_.losses(seen(filter)); }

Result<Choices> SightedStore::choices(const std::string& event) { return store_.choices_in(*sight_, event); }

Status SightedStore::label_build(const BuildLabel& label) {
    TRY_ASSIGN(const Choices choices, store_.choices_in(*sight_, {}));
    if (std::find(choices.builds.begin(), choices.builds.end(), label.build) == choices.builds.end())
        return make_error(ErrorKind::Denied, "no run that you may see has that build");
    return store_.label_build(label);
}

Status SightedStore::name_builds(const std::vector<BuildLabel>&) { return not_for_people(); }

Result<std::vector<BuildLabel>> SightedStore::build_labels() {
    TRY_ASSIGN(const Choices choices, store_.choices_in(*sight_, {}));
    TRY_ASSIGN(auto labels, store_.build_labels());
    std::erase_if(labels, [&](const BuildLabel& label) {
        return !std::binary_search(choices.builds.begin(), choices.builds.end(), label.build);
    });
    return labels;
}

Result<Summary> SightedStore::summary(const Filter& filter) { return store_.summary(seen(filter)); }

Result<RunCounts> SightedStore::count_runs(const Filter& filter) { return store_.count_runs(seen(filter)); }

Result<std::vector<TrendPoint>> SightedStore::trend(const Filter& filter) { return store_.trend(seen(filter)); }

Result<SplitRuns> SightedStore::split(const Filter& filter, SplitBy by, ActivityUnit unit, std::uint32_t run_limit) {
    return store_.split(seen(filter), by, unit, run_limit);
}

Result<RunGroups> SightedStore::run_groups(const Filter& filter, bool of_delays, std::uint32_t run_limit) {
    return store_.run_groups(seen(filter), of_delays, run_limit);
}

Result<SearchedDelays> SightedStore::searched_delays(const Filter& filter) {
    return store_.searched_delays(seen(filter));
}

Result<RunPage> SightedStore::runs(const Filter& filter, RunOrder order, std::uint32_t limit,
                                   std::optional<PageKey> after) {
    return store_.runs(seen(filter), order, limit, after);
}

Result<std::vector<RunDuration>> SightedStore::run_durations(const Filter& filter, std::uint32_t limit) {
    return store_.run_durations(seen(filter), limit);
}

Result<StageStacks> SightedStore::stage_stacks(const Filter& filter, const std::string& stage,
                                               std::uint32_t run_limit) {
    return store_.stage_stacks(seen(filter), stage, run_limit);
}

Result<TimedRuns> SightedStore::run_times(const Filter& filter, std::uint32_t run_limit) {
    return store_.run_times(seen(filter), run_limit);
}

Result<std::optional<RunDetail>> SightedStore::find_run(std::uint64_t id) {
    TRY_ASSIGN(auto found, store_.find_run(id));
    if (found && !sees(*sight_, found->run)) found.reset();
    return found;
}

Result<std::vector<StoredRun>> SightedStore::find_runs(const std::vector<std::uint64_t>& ids) {
    TRY_ASSIGN(auto found, store_.find_runs(ids));
    std::erase_if(found, [&](const StoredRun& run) { return !sees(*sight_, run); });
    return found;
}

Result<std::uint64_t> SightedStore::mark_dirty(const std::vector<DirtyMark>& marks) {
    std::vector<DirtyMark> allowed;
    for (const DirtyMark& mark : marks) {
        TRY_ASSIGN(const auto run, find_runs({mark.run}));
        if (!run.empty()) allowed.push_back(mark);
    }
    return store_.mark_dirty(allowed);
}

Result<std::vector<DirtyMark>> SightedStore::dirty_marks(std::uint64_t run) {
    TRY_ASSIGN(const auto found, find_runs({run}));
    if (found.empty()) return std::vector<DirtyMark>();
    return store_.dirty_marks(run);
}

Result<AddOutcome> SightedStore::add(const BundleRow&, const NewJob&) { return not_for_people(); }

Result<bool> SightedStore::set_contents(const std::string&, const BundleFacts&, const std::string&,
                                        const std::vector<BundleDelay>&) {
    return not_for_people();
}

Result<std::optional<BundleRow>> SightedStore::find(const std::string& digest) {
    TRY_ASSIGN(const auto found, store_.find(digest));
    if (!found) return found;
    std::vector<BundleRow> rows{*found};
    TRY(store_.limit_to_sight(*sight_, rows));
    return rows.empty() ? std::nullopt : std::optional(rows.front());
}

Result<std::vector<BundleRow>> SightedStore::list(std::uint32_t limit, std::optional<std::int64_t> before) {
    TRY_ASSIGN(auto rows, store_.list(limit, before));
    TRY(store_.limit_to_sight(*sight_, rows));
    return rows;
}

Result<BundlePage> SightedStore::list_filtered(const Filter& filter, std::uint32_t limit,
                                               std::optional<PageKey> after) {
    TRY_ASSIGN(BundlePage page, store_.list_filtered(seen(filter), limit, after));
    TRY(store_.limit_to_sight(*sight_, page.bundles));
    return page;
}

Result<std::vector<BundleRow>> SightedStore::oldest(std::uint32_t) { return not_for_people(); }

Result<std::vector<std::string>> SightedStore::digests() { return not_for_people(); }

Status SightedStore::remove(const std::string&) { return not_for_people(); }

Result<Totals> SightedStore::totals() { return store_.totals(); }

Result<std::vector<StoredDelay>> SightedStore::delays(const std::string& digest) {
    TRY_ASSIGN(auto found, store_.delays(digest));
    std::erase_if(found, [&](const StoredDelay& stored) { return !sees(*sight_, stored.delay); });
    return found;
}

Result<std::optional<StoredDelay>> SightedStore::find_delay(const std::string& digest, std::uint32_t number) {
    TRY_ASSIGN(auto found, store_.find_delay(digest, number));
    if (found && !sees(*sight_, found->delay)) found.reset();
    return found;
}

Result<DelayPage> SightedStore::list_delays(const Filter& filter, const std::string& digest, RunOrder order,
                                            std::uint32_t limit, std::optional<PageKey> after) {
    return store_.list_delays(seen(filter), digest, order, limit, after);
}

Result<DelaySummary> SightedStore::summarise_delays(const Filter& filter) {
    return store_.summarise_delays(seen(filter));
}

Status SightedStore::profiles(const Filter& filter, bool delayed, std::uint32_t limit,
                              const std::function<bool(StoredDelay&&)>& take) {
    return store_.profiles(seen(filter), delayed, limit, take);
}

Result<std::vector<CauseNews>> SightedStore::note_causes(const std::string&, const std::vector<SightedCause>&,
                                                         std::uint64_t) {
    return not_for_people();
}

Result<std::vector<CauseRecord>> SightedStore::causes(const std::optional<std::string>& event, std::uint32_t limit) {
    return store_.causes_in(*sight_, event, limit);
}

Result<std::vector<CauseTotal>> SightedStore::cause_totals(std::uint32_t limit) {
    TRY_ASSIGN(auto totals, store_.cause_totals(limit));
    std::erase_if(totals, [&](const CauseTotal& total) { return !sight_->sees_event(total.event); });
    return totals;
}

Result<std::optional<CauseLife>> SightedStore::find_cause(std::uint64_t id) {
    return store_.find_cause_in(*sight_, id);
}

Result<bool> SightedStore::change_cause(std::uint64_t id, const CauseChange& change) {
    TRY_ASSIGN(const auto found, find_cause(id));
    if (!found) return false;
    if (change.root && *change.root != 0) {
        TRY_ASSIGN(const auto root, find_cause(*change.root));
        if (!root) return make_error(ErrorKind::Invalid, "there is no such cause of this event to make it a part of");
    }
    return store_.change_cause(id, change);
}

Result<Choices> SightedStore::choices_in(const Sight&, const std::string& event) { return choices(event); }

Result<std::vector<CauseRecord>> SightedStore::causes_in(const Sight&, const std::optional<std::string>& event,
                                                         std::uint32_t limit) {
    return causes(event, limit);
}

Result<std::optional<CauseLife>> SightedStore::find_cause_in(const Sight&, std::uint64_t id) { return find_cause(id); }

Status SightedStore::limit_to_sight(const Sight&, std::vector<BundleRow>& rows) {
    return store_.limit_to_sight(*sight_, rows);
}

}  // namespace lagtrap::server
