// The server of every workload: routes and replies. What carries its connections is in service.hpp.
#pragma once

#include <httplib.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "service.hpp"

/// Fills in a whole reply; the library sets its length.
void reply(httplib::Response &response, int status, const char *content_type, const std::string &body);

/// Replies with what was wrong, in JSON. The text needs no escapes.
void problem(httplib::Response &response, int status, const std::string &text);

/// The handler of a method, on all paths of a pattern such as `/pong/{n}`; that of GET answers HEAD too.
struct Route {
  std::string method;
  std::string pattern;
  httplib::Server::Handler handler;
};

/// The decoded segment that the pattern has in braces, the first of them by default; none where an escape is
/// broken.
std::optional<std::string> parameter(const httplib::Request &request, size_t index = 0);

/// Has the server answer by the routes of a workload, and what is in every one.
void answer(httplib::Server &server, std::vector<Route> routes, const std::string &version);

/// Waits in a thread of its own for one of these signals, and ends the process once nothing is outstanding or
/// grace is over.
void stop_at(Service &service, const sigset_t &signals);
