// The workload cache over HTTP.
#pragma once

#include <vector>

#include "cache.hpp"
#include "server.hpp"

/// The paths of the workload, with a cache of their own.
std::vector<Route> cache_routes(const CacheSettings &settings);
