#include "server/api/list_file.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace lagtrap::server {
namespace {

class ListSource final : public BodySource {
  public:
    ListSource(std::string head, NextPart next) : text_(std::move(head)), next_(std::move(next)) {}

    Result<std::size_t> read(char* into, std::size_t size) override {
        while (taken_ == text_.size() && !ended_) {
            text_.clear();
            taken_ = 0;
            TRY_ASSIGN(after_, next_(after_, text_));
            ended_ = !after_;
        }
        const std::size_t part = std::min(size, text_.size() - taken_);
        std::copy_n(text_.data() + taken_, part, into);
        taken_ += part;
        return part;
    }

  private:
    std::string text_;
    std::size_t taken_ = 0;
    std::optional<PageKey> after_;
    bool ended_ = false;
    NextPart next_;
};

}  // namespace

std::variant<ListFormat, Refusal> read_list_format(const Route& route) {
    const auto format = route.parameter("format").value_or("csv");
    if (format == "csv") return ListFormat::Csv;
    if (format == "ndjson") return ListFormat::Lines;
    return Refusal{400, "\"format\": expected csv or ndjson"};
}

Reply list_file(ListFormat format, const char* name, const char* columns, NextPart next) {
    const bool csv = format == ListFormat::Csv;
    Reply reply;
    reply.content_type = csv ? "text/csv; charset=utf-8" : "application/x-ndjson";
    reply.headers.emplace_back("Content-Disposition", fmt::format("attachment; filename=\"{}.{}\"",
                                                                  name, csv ? "csv" : "ndjson"));
    reply.source = std::make_shared<ListSource>(csv ? columns : "", std::move(next));
    return reply;
}

void Cells::next() {
    if (!first_) line_ += ',';
    first_ = false;
}

void Cells::add(std::string_view text) {
    next();
    const bool formula =
        !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
    if (!formula && text.find_first_of(",\"\r\n") == std::string_view::npos) {
        line_ += text;
        return;
    }
    line_ += formula ? "\"'" : "\"";
    for (const char letter : text)
        line_ += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    line_ += '"';
}

void Cells::add(const std::optional<std::uint64_t>& value) {
    next();
    if (value) fmt::format_to(std::back_inserter(line_), "{}", *value);
}

}  // namespace lagtrap::server
