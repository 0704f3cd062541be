# frozen_string_literal: true

# The Ruby service on Puma: configuration and life. server.rb has the server; each workload has its handlers in a file
# of its own, and its line in the table below.
#
# It keeps the contract of services/README.md and holds nothing that it does not ask for: no cache of bodies, no log
# line per request, no tuning. README.md has why.

gem "puma", "~> 5.6.5"
gem "rack", "~> 2.2.6"
gem "httpclient", "~> 2.8.3"

require "resolv"
require "socket"
require "httpclient/version"
require_relative "server"

EXIT_CONFIGURATION = 2
EXIT_PORT_IN_USE = 3

# Loaded where they are asked for.
autoload :Pong, File.join(__dir__, "pong.rb")
autoload :Relay, File.join(__dir__, "ping.rb")

# A workload over a protocol; one that relays asks `PEER`.
Offer = Struct.new(:workload, :protocol, :relays, :routes)

# All of them, the defaults first.
OFFERS = [
  Offer.new("pingpong", "http1-json", false, ->(_peer) { Pong.routes }),
  Offer.new("ping", "http1-json", true, ->(peer) { Relay.routes(peer) })
].freeze

# Configuration

Configuration = Struct.new(:host, :port, :offer, :peer, :nagle, keyword_init: true)

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

# The value of a variable that is one of several words, by default the first.
def choice(name, words)
  value = variable(name, words.first)
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

# Reads which workload is asked for, and over which protocol.
def read_offer
  workload = choice("WORKLOAD", OFFERS.map(&:workload).uniq)
  offers = OFFERS.select { |offer| offer.workload == workload }
  protocol = choice("PROTOCOL", offers.map(&:protocol))
  offers.find { |offer| offer.protocol == protocol }
end

# Reads the environment. The first value that is wrong ends the process.
def read_configuration
  host = variable("HOST", "127.0.0.1")
  refuse("HOST", host, "an IP address") unless Resolv::AddressRegex.match?(host)
  port = variable("PORT", "8080")
  refuse("PORT", port, "0 to 65535") unless port?(port, 0..65_535)
  offer = read_offer
  peer = variable("PEER", "")
  if offer.relays && !address?(peer)
    refuse("PEER", peer, "an IPv4 address, or an IPv6 one in brackets, `:` and 1 to 65535")
  end
  nagle = choice("NAGLE", %w[off default])
  %w[TLS_CERT TLS_KEY DIRECT].each do |name|
    refuse(name, variable(name), "nothing (not supported by this service)") if variable(name)
  end
  Configuration.new(host:, port: port.to_i, offer:, peer:, nagle:)
end

# Main

# What --version and /version answer.
def version_text
  "Ruby #{RUBY_VERSION} puma #{Puma::Const::PUMA_VERSION} rack #{Rack.release} httpclient #{HTTPClient::VERSION}"
end

# The server as it is configured, which listens.
def listen(configuration)
  open_server(configuration, configuration.offer.routes.call(configuration.peer), version_text)
rescue Errno::EADDRINUSE
  fail_with EXIT_PORT_IN_USE,
            "`PORT` #{configuration.port} on `HOST` #{configuration.host} is in use, choose another"
rescue SystemCallError, SocketError => e
  fail_with EXIT_CONFIGURATION,
            "`PORT` #{configuration.port} on `HOST` #{configuration.host} cannot be used: #{e.message}"
end

case ARGV
in [] then serve(listen(read_configuration))
in ["--version"] then puts version_text
in [argument, *] then fail_with(EXIT_CONFIGURATION, "argument #{argument.inspect}, allowed: `--version` alone")
end
