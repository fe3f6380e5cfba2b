#include "binaries/dwarf/dwarf_names.hpp"

#include <gtest/gtest.h>

#include "tests/unit/binaries/dwarf/made_dwarf.hpp"

namespace lagtrap::binaries::test::dwarf_names_test {
namespace {

bool touch_all(Dwarf_Die&) { return true; }

std::string name_at(MadeDwarf& made, std::uint64_t offset,
                    const DwarfNames::Touch& touch = touch_all) {
    auto file = made.file();
    EXPECT_TRUE(file) << file.error().message;
    return file ? DwarfNames().name_of(entry_at(*file, offset), touch) : "";
}

const auto named = [](const std::string& name) { return MadeDwarf::text(DW_AT_name, name); };

TEST(DwarfNames, TheLinkageNameHasParameters) {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
        MadeDwarf made;
        const auto function = made.add(DW_TAG_subprogram,
                                       {named("bar"), MadeDwarf::text(attribute, "_ZN3foo3barEi")});
        EXPECT_EQ(name_at(made, function), "foo::bar(int)");
    }
}

TEST(DwarfNames, AnInstanceHasTheNameOfItsOriginOrDeclaration) {
    for (const unsigned attribute : {DW_AT_abstract_origin, DW_AT_specification}) {
        MadeDwarf made;
        const auto declared =
            made.add(DW_TAG_subprogram,
                     {named("bar"), MadeDwarf::text(DW_AT_linkage_name, "_ZN3foo3barEi")});
        const auto between =
            made.add(DW_TAG_subprogram, {MadeDwarf::reference(attribute, declared)});
        const auto instance =
            made.add(DW_TAG_inlined_subroutine, {MadeDwarf::reference(attribute, between)});
        EXPECT_EQ(name_at(made, instance), "foo::bar(int)");
    }
    MadeDwarf made;
    made.open(DW_TAG_namespace, {named("ns")});
    const auto declared = made.add(DW_TAG_subprogram, {named("bar")});
    made.close();
    const auto instance =
        made.add(DW_TAG_subprogram, {MadeDwarf::reference(DW_AT_specification, declared)});
    EXPECT_EQ(name_at(made, instance), "ns::bar") << "the scopes are those of the declaration";
}

TEST(DwarfNames, WithoutALinkageNameTheScopesAreNamed) {
    const auto within = [](const std::vector<std::pair<unsigned, std::string>>& scopes,
                           const std::string& name = "f") {
        MadeDwarf made;
        made.add(DW_TAG_subprogram, {named("before")});
        for (const auto& [tag, scope] : scopes)
            made.open(tag, scope.empty() ? std::vector<MadeDwarf::Attribute>{}
                                         : std::vector{named(scope)});
        made.add(DW_TAG_subprogram, {named("sibling")});
        const auto function = made.add(DW_TAG_subprogram, {named(name)});
        for (std::size_t i = 0; i < scopes.size(); ++i) made.close();
        made.add(DW_TAG_subprogram, {named("after")});
        return name_at(made, function);
    };
    EXPECT_EQ(within({}), "f");
    EXPECT_EQ(within({{DW_TAG_namespace, "ns"}}), "ns::f");
    EXPECT_EQ(within({{DW_TAG_namespace, "ns"}, {DW_TAG_class_type, "C"}}), "ns::C::f");
    EXPECT_EQ(within({{DW_TAG_namespace, ""}}), "(anonymous namespace)::f");
    for (const unsigned tag : {DW_TAG_class_type, DW_TAG_structure_type, DW_TAG_union_type}) {
        EXPECT_EQ(within({{tag, "T"}}), "T::f");
        EXPECT_EQ(within({{tag, ""}}), "{unnamed}::f");
        EXPECT_EQ(within({{tag, ""}}, "operator()"), "{lambda}::operator()");
        EXPECT_EQ(within({{tag, "T"}}, "operator()"), "T::operator()");
    }
    for (const unsigned tag : {DW_TAG_module, DW_TAG_interface_type, DW_TAG_enumeration_type}) {
        EXPECT_EQ(within({{tag, "M"}}), "M::f");
        EXPECT_EQ(within({{tag, ""}}), "f");
    }
    EXPECT_EQ(within({{DW_TAG_lexical_block, "b"}}), "f") << "a block is no scope of a name";
}

TEST(DwarfNames, AFunctionIsTheScopeOfWhatItContains) {
    MadeDwarf made;
    made.open(DW_TAG_namespace, {named("ns")});
    made.open(DW_TAG_subprogram, {named("outer")});
    made.open(DW_TAG_structure_type, {});
    const auto lambda = made.add(DW_TAG_subprogram, {named("operator()")});
    for (int i = 0; i < 3; ++i) made.close();
    EXPECT_EQ(name_at(made, lambda), "ns::outer::{lambda}::operator()");
}

TEST(DwarfNames, SomeLanguagesHaveNoScopes) {
    const auto name_in = [](unsigned language) {
        MadeDwarf made(language);
        made.open(DW_TAG_namespace, {named("ns")});
        const auto function = made.add(DW_TAG_subprogram, {named("f")});
        made.close();
        return name_at(made, function);
    };
    constexpr unsigned c17 = 0x2c, unknown = 0;
    for (const unsigned language :
         {unsigned{DW_LANG_C89}, unsigned{DW_LANG_C}, unsigned{DW_LANG_C99}, unsigned{DW_LANG_C11},
          c17, unsigned{DW_LANG_Go}, unsigned{DW_LANG_Mips_Assembler}, unknown})
        EXPECT_EQ(name_in(language), "f") << language;
    for (const unsigned language :
         {DW_LANG_C_plus_plus, DW_LANG_C_plus_plus_14, DW_LANG_Rust, DW_LANG_D, DW_LANG_Fortran90})
        EXPECT_EQ(name_in(language), "ns::f") << language;
}

TEST(DwarfNames, ReferencesEndSomewhere) {
    MadeDwarf made;
    const auto itself = made.next();
    made.add(DW_TAG_subprogram, {MadeDwarf::reference(DW_AT_abstract_origin, itself)});
    EXPECT_EQ(name_at(made, itself), "");
    MadeDwarf unit;
    const auto type = unit.add(
        DW_TAG_subprogram, {named("f"), {DW_AT_specification, DW_FORM_ref_sig8, Bytes().u64(1)}});
    EXPECT_EQ(name_at(unit, type), "f");
    MadeDwarf nameless;
    const auto none = nameless.add(DW_TAG_subprogram, {});
    EXPECT_EQ(name_at(nameless, none), "");
}

TEST(DwarfNames, UnitsThatMustNotBeReadHaveNoNames) {
    MadeDwarf made;
    const auto function = made.add(DW_TAG_subprogram, {named("f")});
    EXPECT_EQ(name_at(made, function, [](Dwarf_Die&) { return false; }), "");
}

TEST(DwarfNames, TextsAreCutAndNumbersMayBeMissing) {
    MadeDwarf made;
    const auto function = made.add(
        DW_TAG_subprogram, {named(std::string(5000, 'x')), MadeDwarf::number(DW_AT_decl_line, 17)});
    auto file = made.file();
    ASSERT_TRUE(file);
    Dwarf_Die entry = entry_at(*file, function);
    EXPECT_EQ(text_of(entry, DW_AT_name), std::string(4096, 'x'));
    EXPECT_EQ(text_of(entry, DW_AT_linkage_name), "");
    EXPECT_EQ(text_of(entry, DW_AT_decl_line), "");
    EXPECT_EQ(number_of(entry, DW_AT_decl_line), 17U);
    EXPECT_EQ(number_of(entry, DW_AT_decl_file), std::nullopt);
    EXPECT_EQ(number_of(entry, DW_AT_name), std::nullopt);
}

TEST(DwarfNames, AreRemembered) {
    MadeDwarf made;
    made.open(DW_TAG_namespace, {named("ns")});
    const auto first = made.add(DW_TAG_subprogram, {named("f")});
    const auto second = made.add(DW_TAG_subprogram, {named("g")});
    made.close();
    auto file = made.file();
    ASSERT_TRUE(file);
    DwarfNames names;
    for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(names.name_of(entry_at(*file, first), touch_all), "ns::f");
        EXPECT_EQ(names.name_of(entry_at(*file, second), touch_all), "ns::g");
    }
}

}  // namespace
}  // namespace lagtrap::binaries::test::dwarf_names_test
