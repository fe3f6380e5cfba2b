#include "server/ingest/delay_edges.hpp"

#include "analysis/request_edge.hpp"
#include "server/ingest/delay_details.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t short_bytes = 256;

std::vector<EdgeAttribute> attributes_of(const analysis::RequestContext& request) {
    std::vector<EdgeAttribute> attributes;
    for (const analysis::RequestAttribute& one : request.attributes) {
        if (attributes.size() == edge_attributes_limit) break;
        attributes.push_back({shortened(one.name, short_bytes), shortened(one.value, short_bytes)});
    }
    return attributes;
}

}  // namespace

std::vector<DelayEdge> delay_edges(const analysis::DelayCauses& causes) {
    std::vector<DelayEdge> edges;
    for (const analysis::RequestEdge& found : edges_of(causes)) {
        if (edges.size() == edges_limit) break;
        const analysis::RequestContext& culprit = found.culprit;
        DelayEdge& edge = edges.emplace_back();
        edge.event = shortened(culprit.event);
        edge.route = shortened(culprit.route, short_bytes);
        edge.delayed_route = shortened(causes.request.route, short_bytes);
        edge.unit = shortened(found.who.unit);
        edge.process = shortened(found.who.process);
        edge.thread = shortened(found.who.thread);
        edge.pid = found.who.pid;
        edge.tid = found.who.tid;
        edge.key = culprit.key;
        edge.trace_id = culprit.trace_id;
        edge.how = to_text(found.how);
        edge.place = shortened(found.place, short_bytes);
        edge.lost_ns = found.lost_ns;
        edge.attributes = attributes_of(culprit);
        edge.delayed_attributes = attributes_of(causes.request);
    }
    return edges;
}

}  // namespace lagtrap::server
