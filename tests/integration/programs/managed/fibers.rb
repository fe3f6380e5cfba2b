# Fibers that switch to each other, through a reactor and through enumerators; each input line names
# a mode.
TracePoint.new(:call, :return) {}.enable

def turn_a
  3.times { step_a; Fiber.yield }
  step_a
end

def turn_b
  3.times { step_b; Fiber.yield }
  step_b
end

def step_a = sleep(0.001)

def step_b = sleep(0.001)

def take_turns(fibers)
  fibers.each(&:resume) while fibers.all?(&:alive?)
end

def beside = sleep(0.001)

def produce(items)
  5.times { |number| make(number); items << number }
end

def make(number)
  sleep(0.001)
  number
end

def consume
  items = Enumerator.new { |yielder| produce(yielder) }
  3.times { items.next; beside }
end

def outer
  consume
  beside
end

# A fiber that runs to its end within one resume.
def whole
  Fiber.new { beside }.resume
  beside
end

def fibers = [Fiber.new { turn_a }, Fiber.new { turn_b }]

$stdout.sync = true
puts "ready"
while (line = $stdin.gets)
  case line.strip
  when "reactor" then take_turns(fibers)
  when "bare" then (both = fibers; both.each(&:resume) while both.all?(&:alive?))
  when "enumerator" then outer
  when "whole" then whole
  when "thread" then Thread.new { take_turns(fibers) }.join
  end
  puts line
end
