// The workload pingpong over HTTP.
#include "pong.hpp"

#include <string>

namespace {

/// Sizes of a body that the contract allows, in bytes.
constexpr size_t smallest_body = 4, largest_body = 100'000'000;

/// The number that a text is: digits only, no leading zero.
std::optional<size_t> number_of(const std::string &text) {
  if (text.empty() || text.size() > 9 || text.front() == '0') return {};
  if (text.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoul(text);
}

/// Answers GET /pong/{n}. The body is made anew for each request.
void pong(const httplib::Request &request, httplib::Response &response) {
  const auto size = size_of(request, response);
  if (!size) return;
  std::string body(*size, 'o');
  body.front() = 'p';
  body.replace(*size - 2, 2, "ng");
  reply(response, 200, "text/plain", body);
}

}  // namespace

std::vector<Route> pong_routes() { return {{"GET", "/pong/{n}", pong}}; }

std::optional<size_t> size_of(const httplib::Request &request, httplib::Response &response) {
  const auto text = parameter(request);
  const auto size = text ? number_of(*text) : std::nullopt;
  if (size && *size >= smallest_body && *size <= largest_body) return size;
  problem(response, 400, "the size must be a whole number from 4 to 100000000");
  return {};
}
