# frozen_string_literal: true

# The Ruby service on Puma: the workloads pingpong and ping (ping.rb) over http1-json, as a Rack application.
#
# It keeps the contract of services/README.md and holds nothing that it does not ask for: no cache of bodies, no log
# line per request, no tuning. README.md has why.

gem "puma", "~> 5.6.5"
gem "rack", "~> 2.2.6"
gem "httpclient", "~> 2.8.3"

require "json"
require "puma"
require "puma/events"
require "puma/server"
require "rack"
require "resolv"
require "httpclient/version"

# Sizes of a body that the contract allows, in bytes.
SIZES = (4..100_000_000)

# How long outstanding requests may take after SIGTERM, in seconds; the contract allows 5 in all.
GRACE = 4

# As many threads as there may be connections: where all are busy and a connection waits, Puma closes others.
MOST_THREADS = [Process.getrlimit(:NOFILE).first, 1_000_000].min

# A time that does not come, in seconds: ten years.
NEVER = 315_360_000

EXIT_CONFIGURATION = 2
EXIT_PORT_IN_USE = 3

# Configuration

Configuration = Struct.new(:host, :port, :workload, :peer, :nagle, keyword_init: true)

# Ends the process with one line on stderr.
def fail_with(code, message)
  warn message
  exit code
end

# Ends the process because of a variable's value.
def refuse(name, value, allowed)
  fail_with EXIT_CONFIGURATION, "`#{name}` is #{value.inspect}, allowed: #{allowed}"
end

# The value of a variable; the empty text counts as unset.
def variable(name, unset = nil)
  value = ENV.fetch(name, "")
  value.empty? ? unset : value
end

# The value of a variable that is one of several words.
def choice(name, unset, words)
  value = variable(name, unset)
  words.include?(value) ? value : refuse(name, value, words.map { |word| "`#{word}`" }.join(", "))
end

def port?(text, allowed)
  text.match?(/\A[0-9]+\z/) && allowed.cover?(text.to_i)
end

# Whether a text is an address such as `127.0.0.1:8080` or `[::1]:8080`.
def address?(text)
  _, ipv6, ipv4, port = */\A(?:\[(.+)\]|([^:]+)):([0-9]+)\z/.match(text)
  known = ipv6 ? Resolv::IPv6::Regex.match?(ipv6) : Resolv::IPv4::Regex.match?(ipv4.to_s)
  known && port?(port, 1..65_535)
end

# Reads the environment. The first value that is wrong ends the process.
def read_configuration
  host = variable("HOST", "127.0.0.1")
  refuse("HOST", host, "an IP address") unless Resolv::AddressRegex.match?(host)
  port = variable("PORT", "8080")
  refuse("PORT", port, "0 to 65535") unless port?(port, 0..65_535)
  workload = choice("WORKLOAD", "pingpong", %w[pingpong ping])
  choice("PROTOCOL", "http1-json", %w[http1-json])
  peer = variable("PEER", "")
  if workload == "ping" && !address?(peer)
    refuse("PEER", peer, "an IPv4 address, or an IPv6 one in brackets, `:` and 1 to 65535")
  end
  nagle = choice("NAGLE", "off", %w[off default])
  %w[TLS_CERT TLS_KEY DIRECT].each do |name|
    refuse(name, variable(name), "nothing (not supported by this service)") if variable(name)
  end
  Configuration.new(host:, port: port.to_i, workload:, peer:, nagle:)
end

# Handlers

# A whole reply; Puma sets its length.
def reply(status, content_type, body, headers = {})
  [status, { "Content-Type" => content_type, **headers }, [body]]
end

# The reply that says what was wrong, in JSON.
def problem(status, text, headers = {})
  reply(status, "application/json", JSON.generate(error: text), headers)
end

# Answers GET /pong/{n}. The body is made anew for each request.
def pong(size)
  reply(200, "text/plain", "p#{"o" * (size - 3)}ng")
end

# Answers GET /version.
def version
  reply(200, "text/plain", version_text)
end

# Answers every path that the contract does not name.
def not_found
  problem(404, "there is nothing at this path")
end

# Answers every method but GET and HEAD on a known path.
def method_not_allowed
  problem(405, "allowed here: GET and HEAD", { "Allow" => "GET, HEAD" })
end

# Server

# The Rack application.
class Router
  # An escape of a path that is none.
  BROKEN = /%(?![0-9A-Fa-f]{2})/

  # `sized` has the handlers of the paths `/{name}/{n}` by name.
  def initialize(sized)
    @sized = sized
  end

  def call(env)
    path = env[Rack::PATH_INFO]
    return problem(400, "an escape of the path is broken") if path.match?(BROKEN)

    case path.split("/", -1)
    in ["", "version"]
      known(env) { version }
    in ["", name, text] if @sized.key?(name)
      known(env) { sized(@sized[name], Rack::Utils.unescape_path(text)) }
    else
      not_found
    end
  end

  private

  def known(env)
    %w[GET HEAD].include?(env[Rack::REQUEST_METHOD]) ? yield : method_not_allowed
  end

  # Digits only, no leading zero. Escapes may have made bytes that are no UTF-8.
  def sized(handler, text)
    size = text.to_i
    if text.b.match?(/\A[1-9][0-9]*\z/) && SIZES.cover?(size)
      handler.call(size)
    else
      problem(400, "the size must be a whole number from #{SIZES.min} to #{SIZES.max}")
    end
  end
end

# The handlers that take a size, by the name of their path.
def handlers(configuration)
  return { "pong" => method(:pong) } if configuration.workload == "pingpong"

  require_relative "ping"
  relay = Relay.new(configuration.peer)
  { "ping" => relay.method(:ping), "mping" => relay.method(:mping) }
end

# Opens the server's listener; returns its port. Puma turns Nagle's algorithm off by itself.
def listen(server, configuration)
  optimize_for_latency = configuration.nagle == "off" ? [true] : []
  server.add_tcp_listener(configuration.host, configuration.port, *optimize_for_latency).addr[1]
rescue Errno::EADDRINUSE
  fail_with EXIT_PORT_IN_USE,
            "`PORT` #{configuration.port} on `HOST` #{configuration.host} is in use, choose another"
rescue SystemCallError, SocketError => e
  fail_with EXIT_CONFIGURATION,
            "`PORT` #{configuration.port} on `HOST` #{configuration.host} cannot be used: #{e.message}"
end

# Listens, says so, serves until SIGTERM and until nothing is outstanding or grace is over.
def serve(configuration)
  server = Puma::Server.new(Router.new(handlers(configuration)), Puma::Events.new($stderr, $stderr),
                            { persistent_timeout: NEVER, first_data_timeout: NEVER, max_threads: MOST_THREADS })
  port = listen(server, configuration)
  running = server.run
  # SIGTERM is caught before ready is said: from then on it may come at any time.
  trap("TERM") do
    Thread.new { sleep(GRACE) && exit!(0) }
    server.stop
  end
  $stdout.puts "ready #{port}"
  $stdout.flush
  running.join
end

# Main

# What --version and /version answer.
def version_text
  "Ruby #{RUBY_VERSION} puma #{Puma::Const::PUMA_VERSION} rack #{Rack.release} httpclient #{HTTPClient::VERSION}"
end

case ARGV
in [] then serve(read_configuration)
in ["--version"] then puts version_text
in [argument, *] then fail_with(EXIT_CONFIGURATION, "argument #{argument.inspect}, allowed: `--version` alone")
end
