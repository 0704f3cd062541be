# frozen_string_literal: true

# The server: routes, replies and connections of every workload, with WEBrick.

require "json"
require "webrick"

# How long outstanding requests may take after SIGTERM, in seconds; the contract allows 5 in all.
GRACE = 4

# A time that does not come, in seconds: ten years.
NEVER = 315_360_000

# What a handler is asked; `parameters` are the decoded segments that its pattern has in braces.
class Request
  attr_reader :parameters

  def initialize(request, parameters)
    @request = request
    @parameters = parameters
  end

  def header(name)
    @request[name]
  end

  def body
    @request.body || ""
  end
end

# Replies

# A whole reply; WEBrick sets its length.
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

# All paths: WEBrick's own routes match by prefix.
class Router < WEBrick::HTTPServlet::AbstractServlet
  def initialize(server, root)
    super(server)
    @root = root
  end

  def service(request, response)
    reply = route(request)
    response.status = reply.status
    response["Content-Type"] = reply.content_type
    reply.headers&.each { |name, value| response[name] = value }
    response.body = reply.body
  end

  private

  def route(request)
    parameters = []
    handlers = @root.find(request.request_uri.path, parameters)&.handlers
    return not_found if handlers.nil? || handlers.empty?

    handler = handlers[request.request_method]
    return method_not_allowed(handlers.keys) unless handler

    handler.call(Request.new(request, parameters.map { |text| WEBrick::HTTPUtils.unescape(text) }))
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

# A server that listens and answers by these routes; an address that cannot be used is an exception.
def open_server(configuration, routes, version)
  server = WEBrick::HTTPServer.new(
    BindAddress: configuration.host, Port: configuration.port,
    RequestTimeout: NEVER, MaxClients: [Process.getrlimit(:NOFILE).first, 1_000_000].min,
    AccessLog: [], Logger: WEBrick::Log.new($stderr, WEBrick::Log::ERROR),
    AcceptCallback: configuration.nagle == "off" ? method(:without_nagle) : nil
  )
  server.mount("/", Router, tree(routes, version))
  server
end

def without_nagle(socket)
  socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
end

# Says where it listens, serves until SIGTERM and until nothing is outstanding or grace is over.
def serve(server)
  server.config[:StartCallback] = lambda do
    # SIGTERM is caught before ready is said: from then on it may come at any time.
    trap("TERM") do
      Thread.new { sleep(GRACE) && exit!(0) }
      server.shutdown
    end
    $stdout.puts "ready #{server.config[:Port]}"
    $stdout.flush
  end
  server.start
end
