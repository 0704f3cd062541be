# frozen_string_literal: true

# The workload ping: asks the peer for what it is asked for, with httpclient.

require "httpclient"

# What the peer replied, and how often it was asked again.
Answer = Struct.new(:status, :body, :retries)

# Passes requests on to the peer through one pool of connections, which all threads share.
class Relay
  # How often a request is repeated whose connection ended before a byte of the reply came.
  REPETITIONS = 3

  # The paths of the workload, with one client for all.
  def self.routes(peer)
    relay = new(peer)
    [Route.new("GET", "/ping/{n}", relay.method(:ping)), Route.new("GET", "/mping/{n}", relay.method(:mping))]
  end

  def initialize(peer)
    @peer = "http://#{peer}/pong/"
    @client = HTTPClient.new
    @client.proxy = nil
    @client.keep_alive_timeout = NEVER
    # By default a body that breaks off counts as whole.
    @client.strict_response_size_check = true
  end

  # Handlers

  # Answers GET /ping/{n}: passes the peer's body on.
  def ping(request)
    size = Pong.size_of(request)
    return Pong.wrong_size unless size

    answer = ask(size)
    return problem(502, "the peer replied with status #{answer.status}") if answer.status != 200

    Reply.new(200, "text/plain", answer.body)
  rescue StandardError => e
    no_reply(e)
  end

  # Answers GET /mping/{n}: tells how long the peer took.
  def mping(request)
    size = Pong.size_of(request)
    return Pong.wrong_size unless size

    start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    answer = ask(size)
    duration = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - start
    told = { duration_ns: duration, length: answer.body.bytesize, code: answer.status, retries: answer.retries }
    Reply.new(200, "application/json", JSON.generate(told))
  rescue StandardError => e
    no_reply(e)
  end

  private

  def no_reply(error)
    problem(502, "the peer did not reply: #{error.class} #{error.message}")
  end

  # Client

  # Asks for GET /pong/{n}, again where that is allowed. Raises where no whole reply came.
  def ask(size)
    retries = 0
    begin
      message = @client.get(@peer + size.to_s)
      # What does not begin like HTTP counts as HTTP 0.9, which has no status.
      raise HTTPClient::BadResponseError, "no status" if message.status.nil?
      # A body in chunks that breaks off is no error to the client.
      raise HTTPClient::BadResponseError, "half a body" if message.status == 200 && message.body.bytesize != size

      Answer.new(message.status, message.body, retries)
    rescue HTTPClient::KeepAliveDisconnected
      raise if retries == REPETITIONS

      retries += 1
      retry
    end
  end
end
