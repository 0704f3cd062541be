"""Which gets of a trace a cache of libCacheSim answers: a simulator by others, which knows nothing of this workspace.

    python simulate_cache.py lru|fifo BYTES <trace

The trace has the seven columns of Twitter's. Printed is one digit for each get, 1 for a hit; then the bytes and the keys that
are held at the end. Only the compiled part of the package is used: the rest of it needs further packages."""

import importlib.util
import pathlib
import sys

found = importlib.util.find_spec("libcachesim")
if found is None or found.origin is None:
    sys.exit("libcachesim is not installed")
sys.path.insert(0, str(pathlib.Path(found.origin).parent))
import libcachesim_python as simulator

POLICIES = {"lru": simulator.LRU_init, "fifo": simulator.FIFO_init}


def main() -> None:
    policy, limit = sys.argv[1], int(sys.argv[2])
    parameters = simulator.CommonCacheParams(cache_size=limit, hashpower=18, consider_obj_metadata=False)
    cache = POLICIES[policy](parameters)
    numbers: dict[str, int] = {}
    hits = []
    for line in sys.stdin:
        _, key, _, size, _, operation, _ = line.strip().split(",")
        number = numbers.setdefault(key, len(numbers) + 1)
        request = simulator.Request(obj_size=int(size), op=simulator.ReqOp.OP_GET, obj_id=number)
        if operation == "get":
            hits.append("0" if cache.find(request, True) is None else "1")
        elif operation == "set":
            # What it calls a get stores what is not there.
            cache.get(request)
        else:
            cache.remove(number)
    print("".join(hits))
    print(cache.get_occupied_byte(), cache.get_n_obj())


main()
