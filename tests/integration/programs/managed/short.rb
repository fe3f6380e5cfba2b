# Short methods of all kinds; each input line calls each as often as the test expects.
TracePoint.new(:call, :return) {}.enable

class Short
  attr_accessor :value
  def empty; end
  def constant = 7
  alias other constant
  def endless(first, second = 2) = first + second
  def yields = yield
  define_method(:defined) { 3 }
  def method_missing(*) = 5
  def respond_to_missing?(*) = true
  def inherited = 1
end

class Shorter < Short
  def inherited = super
end

Pair = Struct.new(:one)

short = Shorter.new
pair = Pair.new(1)
$stdout.sync = true
puts "ready"
while (line = $stdin.gets)
  short.empty
  [short].each(&:empty)
  short.constant
  short.other
  short.send(:constant)
  short.endless(1)
  short.yields { }
  short.defined
  short.not_there
  short.inherited
  # None of these calls a method with a body in Ruby.
  short.value = 1
  short.value
  pair.one
  -> { 3 }.call
  1 + 2
  puts line
end
