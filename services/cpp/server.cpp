// The server of every workload: routes and replies, with cpp-httplib.
#include "server.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

namespace {

/// How long outstanding requests may take after SIGTERM; the contract allows 5 s in all.
constexpr std::chrono::seconds grace{4};

/// The methods that the library knows, and how it takes a handler for them; that of GET answers HEAD too.
using Take = httplib::Server &(httplib::Server::*)(const std::string &, httplib::Server::Handler);
const std::map<std::string, Take> methods{
    {"GET", &httplib::Server::Get},       {"POST", &httplib::Server::Post},
    {"PUT", &httplib::Server::Put},       {"PATCH", &httplib::Server::Patch},
    {"DELETE", &httplib::Server::Delete}, {"OPTIONS", &httplib::Server::Options},
};

/// Whether the path has an escape that is none. The library decodes leniently.
bool has_broken_escape(const std::string &path) {
  for (size_t at = path.find('%'); at != std::string::npos; at = path.find('%', at + 1)) {
    if (at + 2 >= path.size() || !std::isxdigit(static_cast<unsigned char>(path[at + 1])) ||
        !std::isxdigit(static_cast<unsigned char>(path[at + 2]))) {
      return true;
    }
  }
  return false;
}

/// Answers every path that the contract does not name, and what the library refuses by itself.
void not_found(const httplib::Request &request, httplib::Response &response) {
  if (!response.body.empty()) return;
  if (response.status != 404) return problem(response, response.status, "the request cannot be read");
  if (has_broken_escape(request.path)) return problem(response, 400, "an escape of the path is broken");
  problem(response, 404, "there is nothing at this path");
}

/// Answers every method but these on a known path.
httplib::Server::Handler method_not_allowed(const std::string &allow) {
  return [allow](const httplib::Request &, httplib::Response &response) {
    response.set_header("Allow", allow);
    problem(response, 405, "allowed here: " + allow);
  };
}

/// The library's pattern for ours: each segment in braces is any one segment.
std::string expression(const std::string &pattern) {
  std::string expression;
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '{') {
      expression += "([^/]*)";
      at = pattern.find('}', at);
    } else {
      expression += pattern[at];
    }
  }
  return expression;
}

}  // namespace

// Replies

void reply(httplib::Response &response, int status, const char *content_type, const std::string &body) {
  response.status = status;
  // The library adds this to replies to HEAD only, which are to have the headers of GET.
  response.set_header("Accept-Ranges", "bytes");
  response.set_content(body, content_type);
}

void problem(httplib::Response &response, int status, const std::string &text) {
  reply(response, status, "application/json", "{\"error\": \"" + text + "\"}");
}

// Routes

std::optional<std::string> parameter(const httplib::Request &request, size_t index) {
  const auto text = request.matches[index + 1].str();
  if (has_broken_escape(text)) return {};
  return httplib::detail::decode_url(text, false);
}

void answer(httplib::Server &server, std::vector<Route> routes, const std::string &version) {
  routes.push_back({"GET", "/version", [version](const httplib::Request &, httplib::Response &response) {
                      reply(response, 200, "text/plain", version);
                    }});
  std::map<std::string, std::map<std::string, httplib::Server::Handler>> patterns;
  for (auto &route : routes) patterns[route.pattern][route.method] = std::move(route.handler);
  for (const auto &[pattern, handlers] : patterns) {
    std::string allow;
    for (const auto &handler : handlers) {
      allow += (allow.empty() ? "" : ", ") + handler.first + (handler.first == "GET" ? ", HEAD" : "");
    }
    for (const auto &[method, take] : methods) {
      const auto handler = handlers.find(method);
      (server.*take)(expression(pattern),
                     handler == handlers.end() ? method_not_allowed(allow) : handler->second);
    }
  }
  server.set_error_handler(not_found);
}

// Life

void stop_at(Service &service, const sigset_t &signals) {
  std::thread([&service, signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    service.finish();
    std::this_thread::sleep_for(grace);
    std::_Exit(0);
  }).detach();
}
