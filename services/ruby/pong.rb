# frozen_string_literal: true

# The workload pingpong over HTTP.
module Pong
  # Sizes of a body that the contract allows, in bytes.
  SIZES = (4..100_000_000)

  module_function

  # The paths of the workload.
  def routes
    [Route.new("GET", "/pong/{n}", method(:pong))]
  end

  # Answers GET /pong/{n}. The body is made anew for each request.
  def pong(request)
    size = size_of(request)
    size ? Reply.new(200, "text/plain", "p#{"o" * (size - 3)}ng") : wrong_size
  end

  # The size that the path names: digits only, no leading zero. Escapes may have made bytes that are no UTF-8.
  def size_of(request)
    text = request.parameters.first
    size = text.to_i
    size if text.b.match?(/\A[1-9][0-9]*\z/) && SIZES.cover?(size)
  end

  # Refuses any other size.
  def wrong_size
    problem(400, "the size must be a whole number from #{SIZES.min} to #{SIZES.max}")
  end
end
