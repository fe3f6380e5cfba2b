#include "daemon/budget/overhead_budget.hpp"

#include <algorithm>

#include "daemon/budget/cost_words.hpp"
#include "daemon/budget/millionths.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t million = 1'000'000;
constexpr std::uint64_t max_pause_ns = 86'400ULL * 1'000'000'000;
// Disabling something that costs less than this fraction of the share is not worth it.
constexpr std::uint64_t worthwhile_part = 20;
// The cost of hits that are out of scope or limited counts up to this fraction of the share for
// each user, if other users are watched too. The user's own programs pay for such hits, and must
// not get the event disabled for everybody.
constexpr std::uint64_t passed_part = 4;
constexpr std::size_t max_limited_parties = 32;
// An event that costs more than this multiple of what is available is not watched part of the time,
// because its program would notice each switch.
constexpr std::uint64_t max_looks = 5;
// An event that is watched part of the time gets at least this fraction of the share, whatever the
// others use. The others may become partial too.
constexpr std::uint64_t min_part = 4;
// Return to full-time watching after the event has been affordable this many checks in a row.
constexpr std::uint64_t calm_looks = 10;

}  // namespace

std::uint64_t OverheadBudget::again_ns(std::uint32_t event) const {
    if (event >= events_.size()) return 0;
    const EventState& state = events_[event];
    if (state.probes.up) return state.probes.again_ns;
    return state.stacks.up ? state.stacks.again_ns : 0;
}

std::uint64_t OverheadBudget::stages_again_ns(std::uint32_t event) const {
    return event < events_.size() && events_[event].stages.up ? events_[event].stages.again_ns : 0;
}

std::uint64_t OverheadBudget::stages_since_ns(std::uint32_t event) const {
    return event < events_.size() && events_[event].stages.up ? events_[event].stages.since_ns : 0;
}

bool OverheadBudget::counts_all(std::uint32_t event) const {
    if (event >= events_.size()) return true;
    const EventState& state = events_[event];
    return (!state.probes.up && state.looks_off == 0) || state.counts_all;
}

OverheadBudget::DisabledAt OverheadBudget::disabled_at(std::uint32_t event) const {
    return event < events_.size() ? events_[event].probes.at : DisabledAt{};
}

std::uint64_t OverheadBudget::pause_ns(const Given& given) const {
    std::uint64_t pause = static_cast<std::uint64_t>(budget_.pause.count());
    for (std::uint32_t time = 1; time < given.times && pause < max_pause_ns; ++time) pause *= 2;
    return std::min(pause, max_pause_ns);
}

void OverheadBudget::give_up(Given& given, std::uint64_t now_ns) {
    given.up = true;
    ++given.times;
    ++disabled_count_;
    given.at = {looks_, over_since_};
    given.since_ns = now_ns;
    given.again_ns = now_ns + pause_ns(given);
}

std::uint64_t OverheadBudget::watched_ppm(std::uint32_t event) const {
    return event < events_.size() ? million / (1 + events_[event].looks_off) : million;
}

// Forget earlier attempts once something has stayed enabled as long as it was last disabled.
void OverheadBudget::forgive(Given& given, std::uint64_t now_ns) const {
    if (!given.up && given.times > 0 && now_ns > given.again_ns + pause_ns(given)) given.times = 0;
}

void OverheadBudget::try_again(std::vector<BudgetStep>& steps, std::uint64_t now_ns) {
    for (const auto& [given, action] : {std::pair(&history_, BudgetStep::Action::KeepHistory),
                                        std::pair(&times_, BudgetStep::Action::CountTimes)}) {
        forgive(*given, now_ns);
        if (!given->up || now_ns < given->again_ns) continue;
        given->up = false;
        given->again_ns = now_ns;
        steps.push_back({action, 0, {}});
    }
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
        EventState& state = events_[event];
        forgive(state.stacks, now_ns);
        forgive(state.stages, now_ns);
        forgive(state.probes, now_ns);
        const auto again = [&](Given& given, BudgetStep::Action action, const HitParty& who = {}) {
            if (!given.up || now_ns < given.again_ns) return;
            given.up = false;
            given.again_ns = now_ns;
            steps.push_back({action,
                             event,
                             {},
                             who,
                             state.looks_off == 0 || action != BudgetStep::Action::Attach});
        };
        const std::uint64_t calm_ns =
            calm_looks * static_cast<std::uint64_t>(budget_.interval.count());
        if (state.looks_off > 0 && !state.probes.up && now_ns > state.probes.again_ns + calm_ns) {
            state.looks_off = 0;
            steps.push_back({BudgetStep::Action::WatchWhole, event, {}});
        }
        again(state.stages, BudgetStep::Action::WatchStages);
        again(state.probes, BudgetStep::Action::Attach);
        if (!state.probes.up) state.counted = false;
        again(state.stacks, BudgetStep::Action::TakeStacks);
        for (auto& [who, party] : state.parties) {
            forgive(party.given, now_ns);
            again(party.given, BudgetStep::Action::Release, who);
        }
        std::erase_if(state.parties,
                      [](const auto& party) { return party.second.given.times == 0; });
    }
}

std::vector<OverheadBudget::Cost> OverheadBudget::costliest(const WatchUse& use,
                                                            settings::BudgetPart kind) const {
    std::vector<Cost> costs;
    for (std::uint32_t event = 0; event < events_.size() && event < use.events.size(); ++event) {
        const EventUse& one = use.events[event];
        if (!one.armed || events_[event].probes.up) continue;
        const std::uint64_t stack_ns = events_[event].stacks.up ? 0 : one.stack_ns;
        if (kind == settings::BudgetPart::Stacks && stack_ns > 0)
            costs.push_back({event, stack_ns});
        if (kind == settings::BudgetPart::Stages && !events_[event].stages.up && one.stage_ns > 0)
            costs.push_back({event, one.stage_ns});
        if (kind == settings::BudgetPart::Events)
            costs.push_back({event, whole_cost_of(use, event)});
    }
    std::stable_sort(costs.begin(), costs.end(),
                     [](const Cost& a, const Cost& b) { return a.cost_ns > b.cost_ns; });
    return costs;
}

std::uint64_t OverheadBudget::whole_cost_of(const WatchUse& use, std::uint32_t event) const {
    const EventUse& one = use.events[event];
    const bool known = event < events_.size();
    const std::uint64_t stack_ns = known && events_[event].stacks.up ? 0 : one.stack_ns;
    const std::uint64_t left_ns =
        known && events_[event].stages.up ? std::min(one.stage_ns, one.probe_ns) : 0;
    return one.probe_ns - left_ns + stack_ns + passed_cost_of(use, event);
}

// Probes of a disabled event may cost something until the last one is detached. Do not charge that
// to other events.
std::uint64_t OverheadBudget::cost_of(const WatchUse& use, std::uint32_t event) const {
    const EventUse& one = use.events[event];
    if (!one.armed) return 0;
    if (event < events_.size() && events_[event].probes.up)
        return events_[event].counted ? one.count_ns : 0;
    return whole_cost_of(use, event);
}

bool OverheadBudget::is_limited(std::uint32_t event, const HitParty& who) const {
    const auto found = events_[event].parties.find(who);
    return found != events_[event].parties.end() && found->second.given.up;
}

// True if another user that is not limited has runs of this event.
bool OverheadBudget::leaves_others(const WatchUse& use, std::uint32_t event, Party party) const {
    SeenParties seen = use.events[event].seen;
    for (const auto& [who, limited] : events_[event].parties)
        if (limited.given.up && who.pid == 0) seen.remove(who.party);
    return seen.has_other_than(party);
}

// root is trusted, so the cost to its programs counts in full.
std::uint64_t OverheadBudget::passed_cost_of(const WatchUse& use, std::uint32_t event) const {
    const std::uint64_t max_ns = part_of(use.elapsed_ns, budget_.share_ppm) / passed_part;
    std::uint64_t cost_ns = 0;
    for (const PartyUse& user : use.events[event].users) {
        const bool bounded =
            user.who.party != root_party && leaves_others(use, event, user.who.party);
        cost_ns += bounded ? std::min(user.passed_ns, max_ns) : user.passed_ns;
    }
    return cost_ns;
}

const PartyUse* OverheadBudget::party_to_limit(const WatchUse& use, std::uint32_t event) const {
    const EventUse& one = use.events[event];
    if (events_[event].parties.size() >= max_limited_parties) return nullptr;
    const auto most_of = [&](const std::vector<PartyUse>& parties, const auto& counts) {
        const PartyUse* most = nullptr;
        for (const PartyUse& party : parties)
            if (!is_limited(event, party.who) && counts(party) &&
                (!most || party.paired_ns > most->paired_ns))
                most = &party;
        return most != nullptr && most->paired_ns > 0 ? most : nullptr;
    };
    const PartyUse* const user = most_of(one.users, [](const PartyUse&) { return true; });
    if (!user || leaves_others(use, event, user->who.party)) return user;
    const auto is_his = [&](const PartyUse& party) { return party.who.party == user->who.party; };
    const PartyUse* const process = most_of(one.processes, is_his);
    const bool others = process && process->paired_ns >= user->paired_ns / 2 &&
                        most_of(one.processes, [&](const PartyUse& party) {
                            return is_his(party) && &party != process;
                        });
    return others ? process : nullptr;
}

void OverheadBudget::limit(const WatchUse& use, std::uint32_t event, const PartyUse& party,
                           std::uint64_t now_ns, std::vector<BudgetStep>& steps) {
    LimitedParty& limited = events_[event].parties[party.who];
    give_up(limited.given, now_ns);
    limited.reason = words(use).of_party(party);
    steps.push_back({BudgetStep::Action::Limit, event, limited.reason, party.who});
}

std::vector<OverheadBudget::Limit> OverheadBudget::limits(std::uint32_t event) const {
    std::vector<Limit> limits;
    if (event >= events_.size()) return limits;
    for (const auto& [who, party] : events_[event].parties)
        if (party.given.up) limits.push_back({who, party.reason, party.given.again_ns});
    return limits;
}

CostWords OverheadBudget::words(const WatchUse& use) const { return {use, budget_.share_ppm}; }

bool OverheadBudget::watch_part(const WatchUse& use, Cost& cost, std::uint64_t all_ns,
                                std::uint64_t available_ns, std::uint64_t now_ns,
                                std::vector<BudgetStep>& steps) {
    const std::uint64_t others_ns = all_ns - std::min(all_ns, cost.cost_ns);
    // If the other events exceed the budget by themselves, they will be watched part of the time
    // too.
    const std::uint64_t left_ns =
        others_ns > available_ns ? static_cast<std::uint64_t>(static_cast<double>(available_ns) *
                                                              static_cast<double>(cost.cost_ns) /
                                                              static_cast<double>(all_ns))
                                 : available_ns - others_ns;
    const std::uint64_t fits_ns = std::max({left_ns, available_ns / min_part, std::uint64_t{1}});
    const std::uint64_t looks = (cost.cost_ns + fits_ns - 1) / fits_ns;
    if (looks < 2 || looks > max_looks) return false;
    EventState& state = events_[cost.event];
    // Do not count begins if that leaves less time for watching: durations are worth more.
    const std::uint64_t count_ns = use.events[cost.event].count_ns;
    const std::uint64_t counted_ns = (cost.cost_ns + (looks - 1) * count_ns) / looks;
    state.counts_all = state.counted = count_ns > 0 && counted_ns <= fits_ns;
    const bool news = state.looks_off == 0;
    disabled_count_ += news ? 1 : 0;
    state.looks_off = looks - 1;
    state.probes.up = true;
    state.probes.at = {looks_, over_since_};
    state.probes.again_ns =
        now_ns + state.looks_off * static_cast<std::uint64_t>(budget_.interval.count());
    state.parties.clear();
    steps.push_back(
        {BudgetStep::Action::WatchPart,
         cost.event,
         words(use).of_event(cost.event, settings::BudgetPart::Events, cost.cost_ns, all_ns),
         {},
         news,
         state.counted});
    cost.cost_ns -= state.counted ? counted_ns : cost.cost_ns / looks;
    return true;
}

// Keep the stages of an event that would be detached even without them; they are removed together
// with it.
void OverheadBudget::disable_stages(std::uint64_t& cost_ns, std::uint64_t available_ns,
                                    const WatchUse& use, std::uint64_t now_ns,
                                    std::vector<BudgetStep>& steps) {
    for (const Cost& cost : costliest(use, settings::BudgetPart::Stages)) {
        if (cost_ns <= available_ns || cost.cost_ns < available_ns / worthwhile_part) return;
        if (cost.cost_ns < (cost_ns - available_ns) / worthwhile_part) return;
        const std::uint64_t whole_ns = whole_cost_of(use, cost.event);
        if (whole_ns - std::min(whole_ns, cost.cost_ns) > max_looks * available_ns) continue;
        give_up(events_[cost.event].stages, now_ns);
        steps.push_back(
            {BudgetStep::Action::DropStages, cost.event,
             words(use).of_event(cost.event, settings::BudgetPart::Stages, cost.cost_ns, cost_ns)});
        cost_ns -= std::min(cost_ns, cost.cost_ns);
    }
}

// An event that is only counted must not take budget from events that are timed.
void OverheadBudget::stop_counts(std::uint64_t& cost_ns, std::uint64_t available_ns,
                                 const WatchUse& use, std::vector<BudgetStep>& steps) {
    for (std::uint32_t event = 0; event < events_.size() && event < use.events.size(); ++event) {
        EventState& state = events_[event];
        const std::uint64_t count_ns = cost_of(use, event);
        if (cost_ns <= available_ns) return;
        if (!state.probes.up || !state.counted || count_ns < available_ns / worthwhile_part)
            continue;
        state.counts_all = state.counted = false;
        steps.push_back(
            {BudgetStep::Action::StopCount, event, words(use).of_counts(count_ns, cost_ns)});
        cost_ns -= std::min(cost_ns, count_ns);
    }
}

void OverheadBudget::detach(const WatchUse& use, const Cost& cost, std::uint64_t& all_ns,
                            std::uint64_t available_ns, std::uint64_t now_ns,
                            std::vector<BudgetStep>& steps) {
    EventState& state = events_[cost.event];
    const std::uint64_t count_ns = use.events[cost.event].count_ns;
    const std::uint64_t others_ns = all_ns - std::min(all_ns, cost.cost_ns);
    state.looks_off = 0;
    state.counts_all = state.counted = count_ns > 0 && others_ns + count_ns <= available_ns;
    give_up(state.probes, now_ns);
    state.parties.clear();
    std::string reason =
        words(use).of_event(cost.event, settings::BudgetPart::Events, cost.cost_ns, all_ns);
    if (count_ns > 0 && !state.counted) reason += words(use).of_counts_instead(count_ns);
    steps.push_back(
        {BudgetStep::Action::Detach, cost.event, std::move(reason), {}, true, state.counted});
    all_ns = others_ns + (state.counted ? count_ns : 0);
}

void OverheadBudget::disable_until(std::uint64_t& cost_ns, std::uint64_t available_ns,
                                   const WatchUse& use, settings::BudgetPart kind,
                                   std::uint64_t now_ns, std::vector<BudgetStep>& steps) {
    const bool stacks = kind == settings::BudgetPart::Stacks;
    const auto costs_less = [](const Cost& a, const Cost& b) { return a.cost_ns < b.cost_ns; };
    if (!stacks) stop_counts(cost_ns, available_ns, use, steps);
    std::vector<Cost> costs = costliest(use, kind);
    while (!costs.empty() && cost_ns > available_ns) {
        const auto most = std::max_element(costs.begin(), costs.end(), costs_less);
        if (most->cost_ns < available_ns / worthwhile_part) return;
        if (const PartyUse* const party = stacks ? nullptr : party_to_limit(use, most->event)) {
            limit(use, most->event, *party, now_ns, steps);
            const std::uint64_t saved_ns = std::min(most->cost_ns, party->paired_ns);
            most->cost_ns -= saved_ns;
            cost_ns -= std::min(cost_ns, saved_ns);
            continue;
        }
        if (!stacks && watch_part(use, *most, cost_ns, available_ns, now_ns, steps)) {
            cost_ns -= std::min(cost_ns, most->cost_ns);
            costs.erase(most);
            continue;
        }
        if (stacks) {
            give_up(events_[most->event].stacks, now_ns);
            steps.push_back({BudgetStep::Action::DropStacks, most->event,
                             words(use).of_event(most->event, kind, most->cost_ns, cost_ns)});
            cost_ns -= std::min(cost_ns, most->cost_ns);
        } else {
            detach(use, *most, cost_ns, available_ns, now_ns, steps);
        }
        costs.erase(most);
    }
}

void OverheadBudget::disable_whole(Given& given, BudgetStep::Action action, std::uint64_t part_ns,
                                   std::uint64_t& cost_ns, std::uint64_t available_ns,
                                   const WatchUse& use, std::uint64_t now_ns,
                                   std::vector<BudgetStep>& steps) {
    if (cost_ns <= available_ns || given.up || part_ns < available_ns / worthwhile_part) return;
    // Disabling this part would not help, because the other costs are too high.
    if (part_ns < (cost_ns - available_ns) / worthwhile_part) return;
    give_up(given, now_ns);
    steps.push_back({action, 0, words(use).of_whole(part_ns, cost_ns)});
    cost_ns -= std::min(cost_ns, part_ns);
}

std::vector<BudgetStep> OverheadBudget::look(const WatchUse& use, std::uint64_t now_ns) {
    std::vector<BudgetStep> steps;
    std::uint64_t cost_ns = (history_.up ? 0 : use.history_ns) + (times_.up ? 0 : use.times_ns);
    for (std::uint32_t event = 0; event < use.events.size(); ++event)
        cost_ns += cost_of(use, event);
    const std::uint64_t share_ns = part_of(use.elapsed_ns, budget_.share_ppm);
    // Work of the daemon itself, such as making unwind tables at startup, must not get all events
    // disabled.
    const std::uint64_t available_ns = share_ns - std::min(use.own_cpu_ns, share_ns / 2);
    used_ppm_ = ppm_of(cost_ns + use.own_cpu_ns, use.elapsed_ns);
    exhausted_ = false;
    ++looks_;
    if (cost_ns <= available_ns) over_since_ = 0;
    if (cost_ns > available_ns && over_since_ == 0) over_since_ = looks_;
    const bool second_look = over_since_ != 0 && over_since_ < looks_;
    if (cost_ns > available_ns && (use.exact || second_look || cost_ns > 2 * available_ns)) {
        for (const settings::BudgetPart kind : budget_.disable)
            if (kind == settings::BudgetPart::History)
                disable_whole(history_, BudgetStep::Action::DropHistory, use.history_ns, cost_ns,
                              available_ns, use, now_ns, steps);
            else if (kind == settings::BudgetPart::Times)
                disable_whole(times_, BudgetStep::Action::DropTimes, use.times_ns, cost_ns,
                              available_ns, use, now_ns, steps);
            else if (kind == settings::BudgetPart::Stages)
                disable_stages(cost_ns, available_ns, use, now_ns, steps);
            else if (kind == settings::BudgetPart::Stacks || kind == settings::BudgetPart::Events)
                disable_until(cost_ns, available_ns, use, kind, now_ns, steps);
        exhausted_ = cost_ns > available_ns;
    }
    try_again(steps, now_ns);
    return steps;
}

}  // namespace lagtrap::daemon
