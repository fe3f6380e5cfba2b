#include "server/api/page_files.hpp"

#include "core/digest.hpp"
#include "server/api/api_description.hpp"
#include "server/api/compression.hpp"
#include "server/web/web_files.hpp"

namespace lagtrap::server {
namespace {

struct Form {
    std::string_view encoding;  // empty: uncompressed
    std::string_view bytes;
};

Form choose_form(const WebFile& file, std::string_view accept_encoding) {
    if (!file.brotli.empty() && accepts_encoding(accept_encoding, "br")) return {"br", file.brotli};
    if (!file.gzip.empty() && accepts_encoding(accept_encoding, "gzip")) return {"gzip", file.gzip};
    return {{}, file.bytes};
}

// The ETag of an encoded form: "abc" becomes "abc-gzip".
std::string tag_of(const WebFile& file, const Form& form) {
    std::string tag(file.etag);
    if (!form.encoding.empty() && tag.ends_with('"'))
        tag.insert(tag.size() - 1, "-" + std::string(form.encoding));
    return tag;
}

// Replaces every occurrence.
std::string replaced(std::string text, std::string_view what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

// "https://host:port" of "https://host:port/path".
std::string origin_of(const std::string& address) {
    return address.substr(0, address.find('/', address.find("://") + 3));
}

}  // namespace

PageFiles::PageFiles(const BasePath& base, const std::string& viewer)
    : policy_(web_content_security_policy), description_(api_description_text()) {
    // Pages check that the viewer answers before they send it a trace.
    if (!viewer.empty())
        policy_ =
            replaced(policy_, "connect-src 'self'", "connect-src 'self' " + origin_of(viewer));
    const auto index = find_web_file("/index.html");
    if (!index) return;
    index_ = replaced(std::string(index->bytes), "=\"/assets/", "=\"" + base.text() + "/assets/");
    index_ = replaced(std::move(index_), "name=\"lagtrap-base\" content=\"\"",
                      "name=\"lagtrap-base\" content=\"" + base.text() + "\"");
    index_ = replaced(std::move(index_), "name=\"lagtrap-viewer\" content=\"\"",
                      "name=\"lagtrap-viewer\" content=\"" + viewer + "\"");
    index_tag_ = "\"" + sha256_of(index_).substr(0, 32) + "\"";
    if (!base.text().empty())
        description_ = replaced(std::move(description_), "{url: /,", "{url: " + base.text() + ",");
}

Reply PageFiles::find(const Route& route, const Request& request) const {
    const auto path = decode_percent(route.path, Plus::Itself);
    auto file = path ? find_web_file(*path) : std::nullopt;
    if (!file) return reply_of({404, "there is no such page"});
    if (!index_.empty() && file->path == "/index.html") {
        file->bytes = index_;
        file->etag = index_tag_;
        file->gzip = file->brotli = {};
    }
    const Form form = choose_form(*file, request.accept_encoding);
    const std::string tag = tag_of(*file, form);
    Reply reply;
    reply.content_type = std::string(file->content_type);
    reply.headers = {
        {"Content-Security-Policy", policy_},
        {"Cache-Control", file->unchanging ? "public, max-age=31536000, immutable" : "no-cache"},
        {"ETag", tag},
        {"Vary", "Accept-Encoding"}};
    if (request.if_none_match.find(tag) != std::string::npos) {
        reply.status = 304;
        return reply;
    }
    reply.body = std::string(form.bytes);
    // The encoding was chosen above; setting it, even to identity, prevents a second compression.
    if (!form.encoding.empty()) reply.headers.emplace_back("Content-Encoding", form.encoding);
    return reply;
}

Reply PageFiles::api_description() const {
    Reply reply;
    reply.content_type = "application/yaml";
    reply.body = description_;
    return reply;
}

}  // namespace lagtrap::server
