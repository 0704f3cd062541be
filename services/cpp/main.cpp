// The C++ service, with cpp-httplib: configuration and life. server.cpp has the server; each workload has its
// handlers in a file of its own, and its line in the table below.
//
// It keeps the contract of services/README.md and holds nothing that it does not ask for: no cache of bodies,
// no log line per request, no tuning. README.md has why.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache_http.hpp"
#include "ping.hpp"
#include "pong.hpp"
#include "server.hpp"

namespace {

constexpr int exit_configuration = 2, exit_port_in_use = 3;

struct Address {
  std::string host;
  int port;
};

struct Configuration;

/// A workload over a protocol, and what it answers; one that relays asks `PEER`.
struct Offer {
  std::string workload;
  std::string protocol;
  bool relays;
  std::function<std::vector<Route>(const Configuration &)> routes;
};

struct Configuration {
  Address address;
  Offer offer;
  /// Of no meaning where the workload is no relay.
  Address peer;
  bool nagle_off;
  /// Of no meaning where the workload is another.
  CacheSettings cache;
};

/// All of them, the defaults first.
const std::vector<Offer> offers{
    {"pingpong", "http1-json", false, [](const auto &) { return pong_routes(); }},
    {"ping", "http1-json", true,
     [](const auto &given) { return ping_routes(given.peer.host, given.peer.port); }},
    {"cache", "http1-json", false, [](const auto &given) { return cache_routes(given.cache); }},
};

// Configuration

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

/// Reads which workload is asked for, and over which protocol.
Offer read_offer() {
  std::vector<std::string> workloads, protocols;
  for (const auto &offer : offers) {
    if (std::find(workloads.begin(), workloads.end(), offer.workload) == workloads.end()) {
      workloads.push_back(offer.workload);
    }
  }
  const auto workload = choice("WORKLOAD", workloads);
  for (const auto &offer : offers) {
    if (offer.workload == workload) protocols.push_back(offer.protocol);
  }
  const auto protocol = choice("PROTOCOL", protocols);
  return *std::find_if(offers.begin(), offers.end(), [&](const auto &offer) {
    return offer.workload == workload && offer.protocol == protocol;
  });
}

/// The number that a text is; none where it is not one from `smallest` to `largest`.
template <typename Number>
std::optional<Number> number_of(const std::string &text, Number smallest, Number largest) {
  Number number{};
  const char *const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || read != end) return {};
  return number >= smallest && number <= largest ? std::optional(number) : std::nullopt;
}

/// Reads how large the cache is, what it evicts, and how full its table gets.
CacheSettings read_cache() {
  const auto text = variable("CACHE_LIMIT", "67108864");
  const auto limit = number_of<size_t>(text, 1, 1'000'000'000'000);
  if (!limit || text.front() == '0') refuse("CACHE_LIMIT", text, "1 to 1000000000000 bytes");
  const std::map<std::string, Policy> policies{
      {"fifo", Policy::fifo}, {"lru", Policy::lru}, {"largest", Policy::largest}, {"none", Policy::none}};
  const auto policy = policies.at(choice("CACHE_POLICY", {"lru", "fifo", "largest", "none"}));
  const auto factor_text = variable("CACHE_LOAD_FACTOR");
  const auto factor = number_of<float>(factor_text, 0.1F, 10);
  if (!factor_text.empty() && !factor) refuse("CACHE_LOAD_FACTOR", factor_text, "0.1 to 10");
  return {*limit, policy, factor};
}

/// Reads the environment. The first value that is wrong ends the process.
Configuration read_configuration() {
  const auto host = variable("HOST", "127.0.0.1");
  if (!is_ip(AF_INET, host) && !is_ip(AF_INET6, host)) refuse("HOST", host, "an IP address");
  const auto port = port_of(variable("PORT", "8080"), 0);
  if (!port) refuse("PORT", variable("PORT"), "0 to 65535");
  const auto offer = read_offer();
  const auto peer = address_of(variable("PEER"));
  if (offer.relays && !peer) {
    refuse("PEER", variable("PEER"), "an IPv4 address, or an IPv6 one in brackets, `:` and 1 to 65535");
  }
  const bool nagle_off = choice("NAGLE", {"off", "default"}) == "off";
  for (const char *name : {"TLS_CERT", "TLS_KEY", "DIRECT"}) {
    if (const auto value = variable(name); !value.empty()) {
      refuse(name, value, "nothing (not supported by this service)");
    }
  }
  const auto cache = offer.workload == "cache" ? read_cache() : CacheSettings{};
  return {{host, *port}, offer, peer.value_or(Address{}), nagle_off, cache};
}

// Main

/// What --version and /version answer.
std::string version_text() {
  return "C++ " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__) + "." +
         std::to_string(__GNUC_PATCHLEVEL__) + " cpp-httplib " CPPHTTPLIB_VERSION;
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
void run(const Configuration &configuration) {
  // For all threads, so that only the one that waits for SIGTERM gets it.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  Service service(configuration.nagle_off);
  answer(service, configuration.offer.routes(configuration), version_text());
  const int port = open_listener(service, configuration.address);
  stop_at(service, signals);
  std::cout << "ready " << port << std::endl;
  service.listen_after_bind();
  // Without destructors: the thread that waits for SIGTERM may still need what they would take away.
  std::_Exit(0);
}

}  // namespace

int main(int count, char **words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.empty()) {
    run(read_configuration());
  } else if (arguments.size() == 1 && arguments[0] == "--version") {
    std::cout << version_text() << std::endl;
  } else {
    fail(exit_configuration, "argument \"" + arguments[0] + "\", allowed: `--version` alone");
  }
}
