import assert from "node:assert/strict";
import { test } from "node:test";
import {
  fitName,
  fitsPattern,
  foldName,
  isState,
  longestPart,
  shortenMiddle,
  stateName,
} from "../src/names";

test("arguments of templates are folded, whatever they hold", () => {
  for (const [name, folded] of [
    ["std::vector<std::pair<int, std::string> >::push_back", "std::vector<…>::push_back"],
    ["std::vector<int>::size", "std::vector<int>::size"],
    [
      "boost::asio::detail::handler<std::function<void (int)>, " +
        "Executor>::do_complete<std::allocator<void> >",
      "boost::asio::detail::handler<…>::do_complete<…>",
    ],
    ["f<decltype(a->b), std::greater<int>>::g", "f<…>::g"],
    ["core::ptr::drop_in_place::<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place::<…>"],
    ["absl::flat_hash_map<Key, &Key::operator< , Alloc>::find", "absl::flat_hash_map<…>::find"],
    [
      "std::sort<__gnu_cxx::__normal_iterator<Price*, std::vector<Price>>> waits for a lock",
      "std::sort<…> waits for a lock",
    ],
    ["operator<< <std::char_traits<char> >", "operator<< <std::char_traits<char> >"],
    ["std::operator<<<std::char_traits<char>>", "std::operator<<<…>"],
  ])
    assert.equal(foldName(name), folded, name);
});

test("what is no list of arguments stays", () => {
  for (const name of [
    "main",
    "operator<",
    "Price::operator<=>",
    "ns::operator->",
    "a<b",
    "a < bbbbbbbbbbbbbbbbbb > c",
    "<alloc::vec::Drain as core::ops::Drop>::drop",
    '<script>document.title="owned"</script>',
    "unclosed<std::vector<int>, long long",
    "shop::(anonymous namespace)::price",
    "operator_table<1>",
  ])
    assert.equal(foldName(name), name);
});

test("a name of 100,000 letters is folded, and brackets that never close stay", () => {
  const name = `f<${"std::tuple<".repeat(9000)}int${">".repeat(9000)}>::g`;
  assert.equal(foldName(name), "f<…>::g");
  assert.equal(foldName("a<".repeat(500)), "a<".repeat(500));
});

test("a state has one name everywhere; code without a name is none", () => {
  assert.equal(stateName({ function: "[sleep]", module: "" }), "blocked: sleep");
  assert.equal(stateName({ function: "[waits for a CPU]", module: "" }), "waits for a CPU");
  assert.equal(stateName({ function: "[libfoo.so]", module: "/lib/libfoo.so" }), "[libfoo.so]");
  assert.equal(stateName({ function: "main", module: "/bin/app" }), "main");
  assert.ok(!isState({ function: "[libfoo.so]", module: "/lib/libfoo.so" }));
});

test("a name that is too long loses arguments, then namespaces, and only then letters", () => {
  const name = "shop::pricing::Table::find(std::string const&, std::vector<int>)";
  assert.equal(fitName(name, 200), name);
  assert.equal(fitName(name, 40), "shop::pricing::Table::find(…)");
  assert.equal(fitName(name, 25), "…::Table::find(…)");
  assert.equal(fitName(name, 10), "…::find(…)");
  assert.equal(fitName(name, 6), "…::fi…");
  assert.equal(
    fitName("shop::(anonymous namespace)::price(int, long)", 40),
    "shop::(anonymous namespace)::price(…)",
  );
  assert.equal(fitName("a::b<c::d>::e<f::g>", 12), "…::e<f::g>");
  assert.equal(
    fitName("std::function<void (int)>::operator()(int) const and more words", 34),
    "…::operator()(…)",
  );
  assert.equal(fitName("__x64_sys_futex_with_a_long_name", 12), "__x64_sys_f…");
  assert.equal(fitName("<script>alert(1)</script>", 12), "<script>ale…");
  assert.equal(fitName("", 4), "");
});

test("control groups keep both ends", () => {
  assert.equal(shortenMiddle("/kubepods/pod1234/abcdef.scope", 16), "/kubep…def.scope");
  assert.equal(shortenMiddle("nginx.service", 16), "nginx.service");
  assert.equal(shortenMiddle("x".repeat(100), 20).length, 20);
});

test("a pattern matches as the server does", () => {
  for (const [pattern, names] of [
    ["fra-*", ["fra-", "fra-web-01"]],
    ["*.example.org", ["a.example.org", "a.b.example.org"]],
    ["a*b*a", ["aba", "acbca"]],
    ["*", ["", "fra-"]],
  ] as const) {
    for (const name of names) assert.ok(fitsPattern(pattern, name), `${pattern} ${name}`);
  }
  for (const [pattern, name] of [
    ["fra-*", "xfra-1"],
    ["*.example.org", "example.org"],
    ["a*b*a", "ab"],
    ["a*a", "a"],
    ["a.c*", "abc"],
  ] as const)
    assert.ok(!fitsPattern(pattern, name), `${pattern} ${name}`);
  assert.equal(longestPart("fra-*-db*"), "fra-");
});

test("parts of a pattern must occur in its order, and not overlap", () => {
  for (const [pattern, name, fits] of [
    ["a*b*c", "a-b-c", true],
    ["a*b*c", "abc", true],
    ["a*b*c", "a-c-b", false],
    ["a*b*c", "a-x-c", false],
    ["ab*bc", "abc", false],
    ["ab*bc", "abbc", true],
    ["*b", "ab", true],
    ["b*", "ab", false],
    ["*", "", true],
    ["*b", "ba", false],
    ["*b", "abc", false],
    ["a*bc*c", "abc", false],
    ["a*bc*c", "abcc", true],
  ] as const)
    assert.equal(fitsPattern(pattern, name), fits, `${pattern} ${name}`);
});

test("only operators and lists of arguments of more than ten letters count as such", () => {
  for (const [name, folded] of [
    ["f<abcdefghij>::g", "f<abcdefghij>::g"],
    ["f<abcdefghijk>::g", "f<…>::g"],
    ["shop_operator<std::string, int>::run", "shop_operator<…>::run"],
    ["f<my_operator<int>, long>::g", "f<…>::g"],
    ["f<&T::operator->, long long>::g", "f<…>::g"],
    ["a:<bbbbbbbbbbbbbb>", "a:<bbbbbbbbbbbbbb>"],
    ["a: <bbbbbbbbbbbbbb>", "a: <bbbbbbbbbbbbbb>"],
    ["a::<bbbbbbbbbbbbbb>", "a::<…>"],
    ["operator<=><std::string, int>", "operator<=><…>"],
    ["operator><std::string, int>", "operator><…>"],
  ])
    assert.equal(foldName(name), folded, name);
});

test("the arguments of a function are those of its own brackets", () => {
  for (const [name, most, fitted] of [
    ["operator<(Price const&, Price const&)", 20, "operator<(…)"],
    ["f<decltype(x->y(z))>(int, long, long)", 26, "f<decltype(x->y(z))>(…)"],
    ["shop::price((anonymous namespace)::Table const&)", 30, "shop::price(…)"],
    ["price_of_cart() [clone .constprop.0]", 20, "price_of_cart(…)"],
    ["operator_run() [clone .constprop.0]", 20, "operator_run(…)"],
    ["shop::(lambda)::run(int, long, long)", 22, "shop::(lambda)::run(…)"],
    ["auto (x) run(int, long, long, long)", 22, "auto (x) run(…)"],
    ["ns::operator->::inner_function", 22, "…::inner_function"],
    ["price(int, long)", 8, "price(…)"],
    ["a::f<bcdef>", 7, "…::f<…>"],
    ["a::f<bcdef>", 6, "…::f<…"],
  ] as const)
    assert.equal(fitName(name, most), fitted, name);
});

test("a pattern's first of its longest parts, and parts at the begin", () => {
  assert.equal(longestPart("ab*cd*e"), "ab");
  assert.equal(longestPart("a*cde*fgh"), "cde");
  assert.ok(fitsPattern("*a*b", "ab"));
});

test("states have the same names as in the flame graph", () => {
  const named = (name: string) => stateName({ function: `[${name}]`, module: "" });
  assert.deepEqual(
    ["waits for a CPU", "on CPU", "not recorded", "other", "lock (futex)"].map(named),
    ["waits for a CPU", "on CPU", "not recorded", "other", "blocked: lock (futex)"],
  );
  assert.ok(!isState({ function: "[]", module: "" }));
  assert.ok(!isState({ function: "a[b]", module: "" }));
  assert.ok(!isState({ function: "[b]c", module: "" }));
});
