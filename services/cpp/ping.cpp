// The workload ping over HTTP: asks the peer for what it is asked for, with the client of cpp-httplib.
#include "ping.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "pong.hpp"

namespace {

/// How often a request is repeated whose connection ended before the reply.
constexpr int repetitions = 3;

/// What the peer replied, and how often it was asked again.
struct Answer {
  int status;
  std::string body;
  int retries;
};

/// What came of asking once.
struct Attempt {
  httplib::Error error;
  bool has_head;
  int status;
  std::string body;
};

/// Passes requests on to the peer through one pool of connections.
class Relay {
 public:
  Relay(std::string host, int port);

  void ping(const httplib::Request &request, httplib::Response &response);
  void mping(const httplib::Request &request, httplib::Response &response);

 private:
  Answer ask(size_t size);
  Attempt once(httplib::Client &client, size_t size);
  std::unique_ptr<httplib::Client> take();
  void give_back(std::unique_ptr<httplib::Client> client);

  const std::string host_;
  const int port_;
  const httplib::Headers headers_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<httplib::Client>> idle_;
};

Relay::Relay(std::string host, int port)
    : host_(std::move(host)),
      port_(port),
      // By default compression is accepted, and the library writes no brackets around an IPv6 address.
      headers_{{"Host", (host_.find(':') == std::string::npos ? host_ : "[" + host_ + "]") + ":" +
                            std::to_string(port)},
               {"Accept-Encoding", "identity"}} {}

// Handlers

/// Answers GET /ping/{n}: passes the peer's body on.
void Relay::ping(const httplib::Request &request, httplib::Response &response) {
  const auto size = size_of(request, response);
  if (!size) return;
  try {
    const auto answer = ask(*size);
    if (answer.status == 200) {
      reply(response, 200, "text/plain", answer.body);
    } else {
      problem(response, 502, "the peer replied with status " + std::to_string(answer.status));
    }
  } catch (const std::runtime_error &error) {
    problem(response, 502, error.what());
  }
}

/// Answers GET /mping/{n}: tells how long the peer took.
void Relay::mping(const httplib::Request &request, httplib::Response &response) {
  const auto size = size_of(request, response);
  if (!size) return;
  try {
    const auto begin = std::chrono::steady_clock::now();
    const auto answer = ask(*size);
    const std::chrono::nanoseconds duration = std::chrono::steady_clock::now() - begin;
    reply(response, 200, "application/json",
          "{\"duration_ns\": " + std::to_string(duration.count()) + ", \"length\": " +
              std::to_string(answer.body.size()) + ", \"code\": " + std::to_string(answer.status) +
              ", \"retries\": " + std::to_string(answer.retries) + "}");
  } catch (const std::runtime_error &error) {
    problem(response, 502, error.what());
  }
}

// Client

/// Asks for GET /pong/{n}, again where that is allowed. Throws where no whole reply came.
Answer Relay::ask(size_t size) {
  auto client = take();
  for (int retries = 0;; ++retries) {
    auto [error, has_head, status, body] = once(*client, size);
    if (error == httplib::Error::Success) {
      give_back(std::move(client));
      return {status, std::move(body), retries};
    }
    const bool ended = error == httplib::Error::Read || error == httplib::Error::Write;
    if (!ended || has_head || retries == repetitions) {
      throw std::runtime_error("the peer did not reply: " + httplib::to_string(error));
    }
  }
}

/// Asks once.
Attempt Relay::once(httplib::Client &client, size_t size) {
  Attempt attempt{httplib::Error::Success, false, 0, {}};
  const auto on_head = [&](const httplib::Response &head) {
    attempt.has_head = true;
    attempt.status = head.status;
    return true;
  };
  const auto on_data = [&](const char *data, size_t length) {
    attempt.body.append(data, length);
    return true;
  };
  attempt.error = client.Get("/pong/" + std::to_string(size), headers_, on_head, on_data).error();
  return attempt;
}

/// A connection that nobody uses; a new one where there is none. A client of the library is one connection.
std::unique_ptr<httplib::Client> Relay::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto client = std::move(idle_.back());
      idle_.pop_back();
      return client;
    }
  }
  auto client = std::make_unique<httplib::Client>(host_, port_);
  client->set_keep_alive(true);
  return client;
}

void Relay::give_back(std::unique_ptr<httplib::Client> client) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(client));
}

}  // namespace

std::vector<Route> ping_routes(const std::string &host, int port) {
  const auto relay = std::make_shared<Relay>(host, port);
  return {
      {"GET", "/ping/{n}", [relay](const auto &request, auto &response) { relay->ping(request, response); }},
      {"GET", "/mping/{n}",
       [relay](const auto &request, auto &response) { relay->mping(request, response); }},
  };
}
