#include "settings/run_identity.hpp"

#include <string_view>

#include "core/digest.hpp"

namespace lagtrap::settings {
namespace {

constexpr std::size_t identity_digits = 16;

// Fields one after the other, each with its length, so that no two sequences give the same text.
class Fields {
  public:
    void add(std::string_view field) {
        text_ += std::to_string(field.size());
        text_ += ':';
        text_ += field;
    }
    void add(std::uint64_t number) { add(std::to_string(number)); }
    void add(const std::optional<ArgumentRef>& argument) {
        add(argument ? std::to_string(argument->index) + " " + argument->field + " " +
                           argument->second_field
                     : std::string());
    }
    void add(const Marker& marker) {
        add(static_cast<std::uint64_t>(marker.kind));
        for (const std::string* part : {&marker.binary, &marker.provider, &marker.name}) add(*part);
        add(static_cast<std::uint64_t>(marker.side));
        add(marker.key);
    }
    void add(const Scope& scope) {
        add(scope.pid ? std::to_string(*scope.pid) + (scope.descendants ? "+" : "")
                      : std::string());
        add(scope.uid ? std::to_string(*scope.uid) : std::string());
        add(scope.binary);
        const GroupScope& groups = scope.groups;
        for (const std::string* part :
             {&groups.unit, &groups.control_group, &groups.container, &groups.image, &groups.pod,
              &groups.pod_namespace, &groups.label})
            add(*part);
    }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    std::string text_;
};

}  // namespace

std::string run_identity(const Event& event) {
    Fields fields;
    fields.add(static_cast<std::uint64_t>(event.nesting));
    fields.add(static_cast<std::uint64_t>(event.key));
    fields.add(static_cast<std::uint64_t>(event.key_scope));
    fields.add(event.begin_time);
    fields.add(event.scope);
    fields.add(event.begin);
    fields.add(event.end);
    for (const OtherEnd& other : event.other_ends) {
        fields.add(static_cast<std::uint64_t>(other.meaning));
        fields.add(other.marker);
    }
    return sha256_of(fields.text()).substr(0, identity_digits);
}

}  // namespace lagtrap::settings
