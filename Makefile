# The three commands: `make quickstart` shows what this is, `make check` is the quick loop, `make test` is everything.
# Build output lies outside the clone, so that another clone need not build it again.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weighbridge/target
export CARGO_TERM_COLOR ?= auto

.PHONY: quickstart build setup setup-tests check test accuracy peers clean

quickstart: build
	./weigh run suites/quickstart.toml

build: setup
	cargo build --release --locked -p weighbridge
	ln -sfn "$(CARGO_TARGET_DIR)/release/weigh" weigh

setup:
	@scripts/setup

setup-tests:
	@scripts/setup --tests

check: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked --lib --bins

test: setup-tests
	@scripts/test

# The program as it is shipped; the tests around it are those that the other tests are built with. LESS='--skip NAME' leaves
# stories out.
accuracy: setup-tests build
	WEIGH_BINARY="$(CURDIR)/weigh" CLIFF_SEEDS="$${CLIFF_SEEDS:-1-20}" cargo test --workspace --locked --no-fail-fast --test accuracy --test cliffs \
		--test traps -- --ignored --test-threads=1 $(LESS)

# PEERS='--case http1-16 --rounds 7': see peers/README.md.
peers: build
	peers/run $(PEERS)

clean:
	rm -rf weigh runs
	cargo clean
