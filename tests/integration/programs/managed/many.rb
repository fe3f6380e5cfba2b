# Defines as many methods as the argument says and calls each of them once for each input line.
count = ARGV[0].to_i
count.times { |number| eval "def many_#{number} = nil" }
eval "def call_all\n#{(0...count).map { |number| "many_#{number}" }.join("\n")}\nend"
TracePoint.new(:call, :return) {}.enable
$stdout.sync = true
puts "ready"
while (line = $stdin.gets)
  call_all
  puts line
end
