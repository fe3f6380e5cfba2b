#include "server/api/page_files.hpp"

#include "server/api/api_description.hpp"
#include "server/api/compression.hpp"
#include "server/web/web_files.hpp"

namespace lagtrap::server {
namespace {

struct Form {
    std::string_view encoding;  // empty: as it is
    std::string_view bytes;
};

Form choose_form(const WebFile& file, std::string_view accept_encoding) {
    if (!file.brotli.empty() && accepts_encoding(accept_encoding, "br")) return {"br", file.brotli};
    if (!file.gzip.empty() && accepts_encoding(accept_encoding, "gzip")) return {"gzip", file.gzip};
    return {{}, file.bytes};
}

// The tag of one form of the file: "abc" becomes "abc-gzip".
std::string tag_of(const WebFile& file, const Form& form) {
    std::string tag(file.etag);
    if (!form.encoding.empty() && tag.ends_with('"')) tag.insert(tag.size() - 1, "-" + std::string(form.encoding));
    return tag;
}

}  // namespace

Reply page_file(const Route& route, const Request& request) {
    const auto path = decode_percent(route.path, Plus::Itself);
    const auto file = path ? find_web_file(*path) : std::nullopt;
    if (!file) return reply_of({404, "there is no such page"});
    const Form form = choose_form(*file, request.accept_encoding);
    const std::string tag = tag_of(*file, form);
    Reply reply;
    reply.content_type = std::string(file->content_type);
    reply.headers = {{"Content-Security-Policy", std::string(web_content_security_policy)},
                     {"Cache-Control", file->unchanging ? "public, max-age=31536000, immutable" : "no-cache"},
                     {"ETag", tag},
                     {"Vary", "Accept-Encoding"}};
    if (request.if_none_match.find(tag) != std::string::npos) {
        reply.status = 304;
        return reply;
    }
    reply.body = std::string(form.bytes);
    // Chosen above; identity too, so that nobody compresses it again.
    if (!form.encoding.empty()) reply.headers.emplace_back("Content-Encoding", form.encoding);
    return reply;
}

Reply api_description() {
    Reply reply;
    reply.content_type = "application/yaml";
    reply.body = std::string(api_description_text());
    return reply;
}

}  // namespace lagtrap::server
