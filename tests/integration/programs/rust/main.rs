// A Rust program that notes its own calls: trait objects, closures and caught panics. For each line
// with a number it serves an order and prints which functions were called, and how deep, like the
// programs of call_trees.
use std::cell::RefCell;
use std::io::{BufRead, Write};
use std::panic;

thread_local!(static NOTES: RefCell<(Vec<(&'static str, usize)>, usize)> = RefCell::new((Vec::new(), 0)));

// Notes a call until it is dropped, also when a panic unwinds the stack.
struct Note;

impl Note {
    fn new(name: &'static str) -> Note {
        NOTES.with(|notes| {
            let (calls, depth) = &mut *notes.borrow_mut();
            calls.push((name, *depth));
            *depth += 1;
        });
        Note
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        NOTES.with(|notes| notes.borrow_mut().1 -= 1);
    }
}

#[inline(never)]
fn compute(rounds: u64) -> u64 {
    let _note = Note::new("rust_calls::compute");
    let mut sum: u64 = 1;
    for i in 0..rounds {
        unsafe { std::ptr::write_volatile(&mut sum, std::ptr::read_volatile(&sum).wrapping_mul(31).wrapping_add(i)) };
    }
    sum
}

trait Price {
    fn price(&self, rounds: u64) -> u64;
}

struct Plain;
struct Taxed;

impl Price for Plain {
    #[inline(never)]
    fn price(&self, rounds: u64) -> u64 {
        let _note = Note::new("<rust_calls::Plain as rust_calls::Price>::price");
        compute(rounds) + 1
    }
}

impl Price for Taxed {
    #[inline(never)]
    fn price(&self, rounds: u64) -> u64 {
        let _note = Note::new("<rust_calls::Taxed as rust_calls::Price>::price");
        compute(rounds) + compute(rounds)
    }
}

#[inline(never)]
fn check_item(number: u64) -> u64 {
    let _note = Note::new("rust_calls::check_item");
    if number % 3 == 2 {
        panic!("no such item");
    }
    compute(number)
}

#[inline(never)]
fn find_item(number: u64) -> u64 {
    let _note = Note::new("rust_calls::find_item");
    check_item(number) + compute(1)
}

#[inline(never)]
fn serve_order(rounds: u64, kinds: &[Box<dyn Price>]) -> u64 {
    let _note = Note::new("rust_calls::serve_order");
    let mut sum: u64 = 0;
    for number in 0..6 {
        sum = sum.wrapping_add(kinds[number as usize % kinds.len()].price(rounds));
        sum = sum.wrapping_add(panic::catch_unwind(|| find_item(number)).unwrap_or(0));
    }
    sum
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let kinds: Vec<Box<dyn Price>> = vec![Box::new(Plain), Box::new(Taxed)];
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let rounds = line.unwrap().trim().parse().unwrap();
        let sum = serve_order(rounds, &kinds);
        let calls = NOTES.with(|notes| std::mem::take(&mut notes.borrow_mut().0));
        let noted: Vec<String> = calls.iter().map(|(name, depth)| format!("[\"{}\", {}]", name, depth)).collect();
        println!("[{}, {}]", sum % 1000, noted.join(", "));
        std::io::stdout().flush().unwrap();
    }
}
