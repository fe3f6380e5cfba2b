import assert from "node:assert/strict";
import { test } from "node:test";
import { foldName } from "../src/names";

test("arguments of templates are folded, whatever they hold", () => {
  for (const [name, folded] of [
    ["std::vector<std::pair<int, std::string> >::push_back", "std::vector<…>::push_back"],
    ["std::vector<int>::size", "std::vector<int>::size"],
    ["boost::asio::detail::handler<std::function<void (int)>, Executor>::do_complete<std::allocator<void> >", "boost::asio::detail::handler<…>::do_complete<…>"],
    ["f<decltype(a->b), std::greater<int>>::g", "f<…>::g"],
    ["core::ptr::drop_in_place::<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place::<…>"],
    ["absl::flat_hash_map<Key, &Key::operator< , Alloc>::find", "absl::flat_hash_map<…>::find"],
    ["std::sort<__gnu_cxx::__normal_iterator<Price*, std::vector<Price>>> waits for a lock", "std::sort<…> waits for a lock"],
    ["operator<< <std::char_traits<char> >", "operator<< <std::char_traits<char> >"],
    ["std::operator<<<std::char_traits<char>>", "std::operator<<<…>"],
  ]) assert.equal(foldName(name), folded, name);
});

test("what is no list of arguments stays", () => {
  for (const name of [
    "main", "operator<", "Price::operator<=>", "ns::operator->", "a<b", "a < bbbbbbbbbbbbbbbbbb > c", "<alloc::vec::Drain as core::ops::Drop>::drop",
    "<script>document.title=\"owned\"</script>", "unclosed<std::vector<int>, long long", "shop::(anonymous namespace)::price", "operator_table<1>",
  ]) assert.equal(foldName(name), name);
});

test("a name of 100,000 letters is folded, and brackets that never close stay", () => {
  const name = `f<${"std::tuple<".repeat(9000)}int${">".repeat(9000)}>::g`;
  assert.equal(foldName(name), "f<…>::g");
  assert.equal(foldName("a<".repeat(500)), "a<".repeat(500));
});
