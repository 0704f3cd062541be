// The C++ service: the workloads pingpong and ping (ping.cpp) over http1-json, with cpp-httplib.
//
// It keeps the contract of services/README.md and holds nothing that it does not ask for: no cache of bodies,
// no log line per request, no tuning. README.md has why.
#include <arpa/inet.h>
#include <httplib.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ping.hpp"
#include "service.hpp"

namespace {

/// Sizes of a body that the contract allows, in bytes.
constexpr size_t smallest_body = 4, largest_body = 100'000'000;

/// How long outstanding requests may take after SIGTERM; the contract allows 5 s in all.
constexpr std::chrono::seconds grace{4};

constexpr int exit_configuration = 2, exit_port_in_use = 3;

// Configuration

struct Address {
  std::string host;
  int port;
};

struct Configuration {
  Address address;
  std::string workload;
  std::string peer;
  bool nagle_off;
};

/// Ends the process with one line on stderr.
[[noreturn]] void fail(int code, const std::string &message) {
  std::cerr << message << std::endl;
  std::exit(code);
}

/// Ends the process because of a variable's value.
[[noreturn]] void refuse(const std::string &name, const std::string &value, const std::string &allowed) {
  fail(exit_configuration, "`" + name + "` is \"" + value + "\", allowed: " + allowed);
}

/// The value of a variable; the empty text counts as unset.
std::string variable(const char *name, const std::string &unset = "") {
  const char *value = std::getenv(name);
  return value && *value ? value : unset;
}

/// The value of a variable that is one of several words.
std::string choice(const char *name, const std::vector<std::string> &words) {
  const auto value = variable(name, words.front());
  std::string allowed;
  for (const auto &word : words) {
    if (word == value) return value;
    allowed += (allowed.empty() ? "`" : ", `") + word + "`";
  }
  refuse(name, value, allowed);
}

bool is_ip(int family, const std::string &text) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  return inet_pton(family, text.c_str(), address.data()) == 1;
}

/// A port of up to five digits.
std::optional<int> port_of(const std::string &text, int smallest) {
  if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != std::string::npos) return {};
  const int port = std::stoi(text);
  return port >= smallest && port <= 65535 ? std::optional(port) : std::nullopt;
}

/// Reads an address such as `127.0.0.1:8080` or `[::1]:8080`.
std::optional<Address> address_of(const std::string &text) {
  const auto colon = text.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : port_of(text.substr(colon + 1), 1);
  if (!port) return {};
  const auto host = text.substr(0, colon);
  if (is_ip(AF_INET, host)) return Address{host, *port};
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return {};
  const auto inner = host.substr(1, host.size() - 2);
  return is_ip(AF_INET6, inner) ? std::optional(Address{inner, *port}) : std::nullopt;
}

/// Reads the environment. The first value that is wrong ends the process.
Configuration read_configuration() {
  const auto host = variable("HOST", "127.0.0.1");
  if (!is_ip(AF_INET, host) && !is_ip(AF_INET6, host)) refuse("HOST", host, "an IP address");
  const auto port = port_of(variable("PORT", "8080"), 0);
  if (!port) refuse("PORT", variable("PORT"), "0 to 65535");
  const auto workload = choice("WORKLOAD", {"pingpong", "ping"});
  choice("PROTOCOL", {"http1-json"});
  const auto peer = variable("PEER");
  if (workload == "ping" && !address_of(peer)) {
    refuse("PEER", peer, "an IPv4 address, or an IPv6 one in brackets, `:` and 1 to 65535");
  }
  const bool nagle_off = choice("NAGLE", {"off", "default"}) == "off";
  for (const char *name : {"TLS_CERT", "TLS_KEY", "DIRECT"}) {
    if (const auto value = variable(name); !value.empty()) {
      refuse(name, value, "nothing (not supported by this service)");
    }
  }
  return {{host, *port}, workload, peer, nagle_off};
}

// Handlers

/// What --version and /version answer.
std::string version_text() {
  return "C++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
         std::to_string(__GNUC_PATCHLEVEL__) + " cpp-httplib " CPPHTTPLIB_VERSION;
}

/// Answers GET /pong/{n}. The body is made anew for each request.
void pong(httplib::Response &response, size_t size) {
  std::string body(size, 'o');
  body.front() = 'p';
  body.replace(size - 2, 2, "ng");
  reply(response, 200, "text/plain", body);
}

/// Answers GET /version.
void version(const httplib::Request &, httplib::Response &response) {
  reply(response, 200, "text/plain", version_text());
}

/// Answers every method but GET and HEAD on a known path.
void method_not_allowed(const httplib::Request &, httplib::Response &response) {
  response.set_header("Allow", "GET, HEAD");
  problem(response, 405, "allowed here: GET and HEAD");
}

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

/// The size that a path names: digits only, no leading zero.
std::optional<size_t> size_of(const httplib::Request &request) {
  if (has_broken_escape(request.path)) return {};
  const auto text = httplib::detail::decode_url(request.matches[1].str(), false);
  if (text.empty() || text.size() > 9 || text.front() == '0') return {};
  if (text.find_first_not_of("0123456789") != std::string::npos) return {};
  const size_t size = std::stoul(text);
  return size >= smallest_body && size <= largest_body ? std::optional(size) : std::nullopt;
}

// Server

/// A handler without the size, which it judges.
template <typename Handler>
httplib::Server::Handler sized(Handler handler) {
  return [handler](const httplib::Request &request, httplib::Response &response) {
    if (const auto size = size_of(request)) {
      handler(response, *size);
    } else {
      problem(response, 400, "the size must be a whole number from 4 to 100000000");
    }
  };
}

/// A path of the contract; a pattern for GET answers HEAD too.
void add(httplib::Server &server, const std::string &pattern, const httplib::Server::Handler &handler) {
  server.Get(pattern, handler);
  server.Post(pattern, method_not_allowed);
  server.Put(pattern, method_not_allowed);
  server.Patch(pattern, method_not_allowed);
  server.Delete(pattern, method_not_allowed);
  server.Options(pattern, method_not_allowed);
}

/// Opens the listener; returns its port. The library does not say why it could not, the system does.
int open_listener(Service &service, const Address &address) {
  errno = 0;
  const int port = service.open(address.host, address.port);
  const auto place = "`PORT` " + std::to_string(address.port) + " on `HOST` " + address.host;
  if (port < 0 && errno == EADDRINUSE) fail(exit_port_in_use, place + " is in use, choose another");
  if (port < 0) fail(exit_configuration, place + " cannot be used: " + std::strerror(errno));
  return port;
}

/// Listens, says so, serves until SIGTERM and until nothing is outstanding or grace is over.
void serve(const Configuration &configuration) {
  // For all threads, so that only the one that waits for SIGTERM gets it.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Service service(configuration.nagle_off);
  std::unique_ptr<Relay> relay;
  add(service, "/version", version);
  if (configuration.workload == "pingpong") {
    add(service, "/pong/([^/]*)", sized(pong));
  } else {
    const auto peer = *address_of(configuration.peer);
    relay = std::make_unique<Relay>(peer.host, peer.port, configuration.peer);
    add(service, "/ping/([^/]*)", sized([&](auto &response, size_t size) { relay->ping(response, size); }));
    add(service, "/mping/([^/]*)", sized([&](auto &response, size_t size) { relay->mping(response, size); }));
  }
  service.set_error_handler(not_found);
  const int port = open_listener(service, configuration.address);
  std::thread([&service, signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    service.finish();
    std::this_thread::sleep_for(grace);
    std::_Exit(0);
  }).detach();
  std::cout << "ready " << port << std::endl;
  service.listen_after_bind();
  // Without destructors: the thread above may still need what they would take away.
  std::_Exit(0);
}

}  // namespace

void reply(httplib::Response &response, int status, const char *content_type, const std::string &body) {
  response.status = status;
  // The library adds this to replies to HEAD only, which are to have the headers of GET.
  response.set_header("Accept-Ranges", "bytes");
  response.set_content(body, content_type);
}

void problem(httplib::Response &response, int status, const std::string &text) {
  reply(response, status, "application/json", "{\"error\": \"" + text + "\"}");
}

// Main

int main(int count, char **words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.empty()) {
    serve(read_configuration());
  } else if (arguments.size() == 1 && arguments[0] == "--version") {
    std::cout << version_text() << std::endl;
  } else {
    fail(exit_configuration, "argument \"" + arguments[0] + "\", allowed: `--version` alone");
  }
}
