# frozen_string_literal: true

# The server: routes, replies and connections of every workload, a Rack application on Puma.

require "json"
require "puma"
require "puma/events"
require "puma/server"
require "rack"

# How long outstanding requests may take after SIGTERM, in seconds; the contract allows 5 in all.
GRACE = 4

# A time that does not come, in seconds: ten years.
NEVER = 315_360_000

# As many threads as there may be connections: where all are busy and a connection waits, Puma closes others.
MOST_THREADS = [Process.getrlimit(:NOFILE).first, 1_000_000].min

# What a handler is asked; `parameters` are the decoded segments that its pattern has in braces.
class Request
  attr_reader :parameters

  def initialize(env, parameters)
    @env = env
    @parameters = parameters
  end

  def header(name)
    key = name.upcase.tr("-", "_")
    @env["HTTP_#{key}"] || @env[key]
  end

  def body
    @env[Rack::RACK_INPUT].read
  end
end

# Replies

# A whole reply; Puma sets its length.
Reply = Struct.new(:status, :content_type, :body, :headers)

# Replies with what was wrong, in JSON.
def problem(status, text, headers = nil)
  Reply.new(status, "application/json", JSON.generate(error: text), headers)
end

# Answers every path that the contract does not name.
def not_found
  problem(404, "there is nothing at this path")
end

# Answers every method but these on a known path.
def method_not_allowed(methods)
  allow = methods.join(", ")
  problem(405, "allowed here: #{allow}", { "Allow" => allow })
end

# Router

# The handler of a method, on all paths of a pattern such as `/pong/{n}`; that of GET answers HEAD too.
Route = Struct.new(:request_method, :pattern, :handler)

# What follows one segment of a path.
class Node
  attr_reader :handlers

  def initialize
    @segments = {}
    @handlers = {}
  end

  # Adds a route to the tree of which this is the root.
  def add(route)
    node = route.pattern.split("/", -1).reduce(self) { |above, segment| above.child(segment) }
    methods = route.request_method == "GET" ? %w[GET HEAD] : [route.request_method]
    methods.each { |name| node.handlers[name] = route.handler }
  end

  # The end of a path, by its segments as they were sent; those that stand for parameters are put with these.
  def find(path, parameters)
    path.split("/", -1).reduce(self) do |node, segment|
      node.next(segment, parameters) || (return nil)
    end
  end

  protected

  def child(segment)
    return @parameter ||= Node.new if segment.start_with?("{")

    @segments[segment] ||= Node.new
  end

  def next(segment, parameters)
    node = @segments[segment]
    return node if node

    parameters << segment if @parameter
    @parameter
  end
end

# The Rack application.
class Router
  # An escape of a path that is none.
  BROKEN = /%(?![0-9A-Fa-f]{2})/

  def initialize(root)
    @root = root
  end

  def call(env)
    reply = route(env)
    headers = { "Content-Type" => reply.content_type }
    headers.update(reply.headers) if reply.headers
    [reply.status, headers, [reply.body]]
  end

  private

  def route(env)
    path = env[Rack::PATH_INFO]
    return problem(400, "an escape of the path is broken") if path.match?(BROKEN)

    parameters = []
    handlers = @root.find(path, parameters)&.handlers
    return not_found if handlers.nil? || handlers.empty?

    handler = handlers[env[Rack::REQUEST_METHOD]]
    return method_not_allowed(handlers.keys) unless handler

    handler.call(Request.new(env, parameters.map { |text| Rack::Utils.unescape_path(text) }))
  end
end

# The routes of a workload, and what is in every one.
def tree(routes, version)
  root = Node.new
  routes.each { |route| root.add(route) }
  root.add(Route.new("GET", "/version", ->(_) { Reply.new(200, "text/plain", version) }))
  root
end

# Connections

# A server that listens and answers by these routes; an address that cannot be used is an exception. Puma turns Nagle's
# algorithm off by itself.
def open_server(configuration, routes, version)
  server = Puma::Server.new(Router.new(tree(routes, version)), Puma::Events.new($stderr, $stderr),
                            { persistent_timeout: NEVER, first_data_timeout: NEVER, max_threads: MOST_THREADS })
  optimize_for_latency = configuration.nagle == "off" ? [true] : []
  server.add_tcp_listener(configuration.host, configuration.port, *optimize_for_latency)
  server
end

# Says where it listens, serves until SIGTERM and until nothing is outstanding or grace is over.
def serve(server)
  running = server.run
  # SIGTERM is caught before ready is said: from then on it may come at any time.
  trap("TERM") do
    Thread.new { sleep(GRACE) && exit!(0) }
    server.stop
  end
  $stdout.puts "ready #{server.connected_ports.first}"
  $stdout.flush
  running.join
end
