#include "server/store/edge_store.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "server/store/edge_attributes.hpp"
#include "server/store/sql_session.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t edges_read_limit = 100'000;
constexpr std::size_t examples_limit = 5;

const std::string edges_of_delays =
    " FROM delay_edge e JOIN delay x ON x.bundle = e.bundle AND x.number = e.number AND x.delayed "
    "= 1";
const std::string edge_columns =
    "SELECT b.digest, x.number, x.host, x.begin_ns, x.event, e.delayed_route, e.event, e.route, "
    "e.unit, e.process, e.thread, e.pid, e.tid, e.run_key, e.trace_id, e.how, e.place, e.lost_ns, "
    "x.unit, "
    "e.attributes, e.delayed_attributes";

std::uint64_t number_of(const std::string& digits) {
    std::uint64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

Result<StoredEdge> read_edge(Connection& connection, Labels& labels, const Rows& rows) {
    StoredEdge stored;
    stored.bundle = rows.text(0);
    stored.number = rows.small(1);
    stored.begin_realtime_ns = rows.natural(3);
    stored.delayed.route = rows.text(5);
    DelayEdge& edge = stored.edge;
    edge.delayed_route = stored.delayed.route;
    edge.route = rows.text(7);
    edge.pid = rows.small(11);
    edge.tid = rows.small(12);
    edge.key = number_of(rows.text(13));
    edge.trace_id = rows.text(14);
    edge.how = rows.text(15);
    edge.place = rows.text(16);
    edge.lost_ns = rows.natural(17);
    edge.attributes = attributes_of_text(rows.text(19));
    edge.delayed_attributes = attributes_of_text(rows.text(20));
    TRY_ASSIGN(stored.host, labels.text_of(connection, rows.small(2)));
    TRY_ASSIGN(stored.delayed.event, labels.text_of(connection, rows.small(4)));
    TRY_ASSIGN(edge.event, labels.text_of(connection, rows.small(6)));
    TRY_ASSIGN(edge.unit, labels.text_of(connection, rows.small(8)));
    TRY_ASSIGN(edge.process, labels.text_of(connection, rows.small(9)));
    TRY_ASSIGN(edge.thread, labels.text_of(connection, rows.small(10)));
    TRY_ASSIGN(stored.delayed_unit, labels.text_of(connection, rows.small(18)));
    return stored;
}

Where conditions(const NumberedFilter& numbered, const std::optional<std::uint32_t>& culprit) {
    Where where;
    add_delay_conditions(where, numbered);
    if (numbered.sight) where.add(numbered.sight->condition("e"));
    if (culprit) where.add("e.event = ?", *culprit);
    return where;
}

// Both requests of an edge ran on one host.
std::string part_of(const StoredEdge& edge, const EdgeSplit& split, bool of_culprit) {
    switch (split.by) {
        case EdgeSplit::By::Nothing: return {};
        case EdgeSplit::By::Unit: return of_culprit ? edge.edge.unit : edge.delayed_unit;
        case EdgeSplit::By::Host: return edge.host;
        case EdgeSplit::By::Attribute:
            return attribute_value(of_culprit ? edge.edge.attributes : edge.edge.delayed_attributes,
                                   split.attribute);
    }
    return {};
}

// Groups edges one by one.
class Grouping {
  public:
    explicit Grouping(const EdgeSplit& split) : split_(split) {}

    void add(StoredEdge&& edge) {
        const std::uint64_t day = edge.begin_realtime_ns / day_ns * day_ns;
        note_attributes(edge.edge.attributes);
        note_attributes(edge.edge.delayed_attributes);
        const RequestKind culprit{edge.edge.event, edge.edge.route, part_of(edge, split_, true)};
        edge.delayed.part = part_of(edge, split_, false);
        Growing& growing = groups_[{culprit, edge.delayed}];
        EdgeGroup& group = growing.group;
        group.culprit = culprit;
        group.delayed = edge.delayed;
        ++group.delays;
        group.lost_ns += edge.edge.lost_ns;
        EdgeDay& on_day = growing.days[day];
        on_day.from_ns = day;
        ++on_day.delays;
        on_day.lost_ns += edge.edge.lost_ns;
        if (group.delays == 1 || edge.edge.lost_ns > group.longest_ns) {
            group.longest_ns = edge.edge.lost_ns;
            group.how = edge.edge.how;
        }
        add_example(group.examples, std::move(edge));
    }

    [[nodiscard]] std::vector<EdgeGroup> take() {
        std::vector<EdgeGroup> groups;
        for (auto& [kinds, growing] : groups_) {
            for (const auto& [from_ns, day] : growing.days) growing.group.days.push_back(day);
            groups.push_back(std::move(growing.group));
        }
        std::stable_sort(groups.begin(), groups.end(), [](const EdgeGroup& a, const EdgeGroup& b) {
            return a.lost_ns > b.lost_ns;
        });
        return groups;
    }
    [[nodiscard]] std::vector<std::string> attributes() const {
        return {attributes_.begin(), attributes_.end()};
    }

  private:
    struct Growing {
        EdgeGroup group;
        std::map<std::uint64_t, EdgeDay> days;
    };

    void note_attributes(const std::vector<EdgeAttribute>& attributes) {
        for (const EdgeAttribute& one : attributes)
            if (attributes_.size() < attribute_names_limit) attributes_.insert(one.name);
    }
    static void add_example(std::vector<StoredEdge>& examples, StoredEdge&& edge) {
        const auto place = std::find_if(
            examples.begin(), examples.end(),
            [&](const StoredEdge& one) { return one.edge.lost_ns < edge.edge.lost_ns; });
        if (place == examples.end() && examples.size() == examples_limit) return;
        examples.insert(place, std::move(edge));
        if (examples.size() > examples_limit) examples.pop_back();
    }

    const EdgeSplit& split_;
    std::map<std::pair<RequestKind, RequestKind>, Growing> groups_;
    std::set<std::string> attributes_;  // names
};

}  // namespace

Result<EdgeSummary> EdgeStore::summarise(const EdgeQuestion& question) const {
    EdgeSummary summary;
    const Status looked = session_->read_filtered(
        question.filter, visibility_,
        [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            summary = {};
            std::optional<std::uint32_t> event;
            if (!question.culprit.empty()) {
                TRY_ASSIGN(event,
                           session_->labels().find(connection, LabelKind::Event, question.culprit));
                if (!event) return success();
            }
            const Where where = conditions(numbered, event);
            {
                TRY_ASSIGN(const auto counted,
                           connection.query("SELECT count(*)" + edges_of_delays + where.sql(),
                                            where.values()));
                TRY(counted->next());
                summary.edges = counted->natural(0);
            }
            Grouping grouping(question.split);
            TRY_ASSIGN(const auto rows,
                       connection.query(edge_columns + edges_of_delays +
                                            " JOIN bundle b ON b.number = x.bundle" + where.sql() +
                                            " ORDER BY x.begin_ns DESC, x.id DESC LIMIT " +
                                            std::to_string(edges_read_limit),
                                        where.values()));
            for (;;) {
                TRY_ASSIGN(const bool more, rows->next());
                if (!more) break;
                TRY_ASSIGN(auto edge, read_edge(connection, session_->labels(), *rows));
                ++summary.edges_read;
                grouping.add(std::move(edge));
            }
            summary.groups = grouping.take();
            summary.attributes = grouping.attributes();
            if (summary.groups.size() > question.max_groups) {
                summary.groups_left_out = summary.groups.size() - question.max_groups;
                summary.groups.resize(question.max_groups);
            }
            return success();
        });
    if (!looked) return looked.error();
    return summary;
}

Result<bool> EdgeStore::has_edges() const {
    bool found = false;
    const Status looked = session_->read_filtered(
        {}, visibility_, [&](Connection& connection, const NumberedFilter& numbered) -> Status {
            const Where where = conditions(numbered, std::nullopt);
            TRY_ASSIGN(const auto rows,
                       connection.query("SELECT 1" + edges_of_delays + where.sql() + " LIMIT 1",
                                        where.values()));
            TRY_ASSIGN(found, rows->next());
            return success();
        });
    if (!looked) return looked.error();
    return found;
}

}  // namespace lagtrap::server
