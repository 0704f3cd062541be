# `make quickstart` shows what this is, `make check` is the quick loop, `make test` decides whether this tree works on this
# machine, `make test-all` is everything.
# Build output lies outside the clone, so that another clone need not build it again.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weighbridge/target
export CARGO_TERM_COLOR ?= auto

.PHONY: quickstart build setup setup-tests check test test-all accuracy peers clean

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

test: setup
	@scripts/test

test-all: setup-tests test
	@scripts/test --rest

# Planted truths, each told as often as the documents say: needs an idle machine. LESS='--skip NAME' leaves stories out.
accuracy: setup-tests build
	@scripts/accuracy $(LESS)

# PEERS='--case http1-16 --rounds 7': see peers/README.md.
peers: build
	peers/run $(PEERS)

clean:
	rm -rf weigh runs
	cargo clean
