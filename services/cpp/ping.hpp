// The workload ping, and what its handlers need of main.cpp.
#pragma once

#include <httplib.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// Fills in a whole reply; the library sets its length.
void reply(httplib::Response &response, int status, const char *content_type, const std::string &body);

/// Replies with what was wrong, in JSON. The text needs no escapes.
void problem(httplib::Response &response, int status, const std::string &text);

/// Passes requests on to the peer through one pool of connections.
class Relay {
 public:
  Relay(std::string host, int port, std::string authority);

  void ping(httplib::Response &response, size_t size);
  void mping(httplib::Response &response, size_t size);

 private:
  struct Answer;
  struct Attempt;

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
