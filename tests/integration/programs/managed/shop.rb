# Fills carts: each input line says how many carts, and how many milliseconds each checkout sleeps.
# With "trace", Ruby reports its method calls.
TracePoint.new(:call, :return) {}.enable if ARGV[0] == "trace"

class Cart
  def initialize
    @sum = 0
  end

  def add(price)
    @sum += discounted(price)
  end

  def discounted(price)
    raise ArgumentError, "free" if price.zero?
    price - price / 10
  end

  def checkout(sleep_ms)
    sleep(sleep_ms / 1000.0) if sleep_ms > 0
    @sum
  end
end

def fill(sleep_ms)
  cart = Cart.new
  (1..20).each { |price| cart.add(price) }
  begin
    cart.add(0)
  rescue ArgumentError
    cart.add(1)
  end
  cart.checkout(sleep_ms)
end

$stdout.sync = true
puts "ready"
while (line = $stdin.gets)
  carts, sleep_ms = line.split.map(&:to_i)
  puts Array.new(carts) { fill(sleep_ms) }.sum
end
