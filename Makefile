# `make quickstart` shows what this is, `make check` is the quick loop, `make test` decides whether this tree is right, whatever
# else the machine does, `make test-all` is everything, `make install` puts what `make build` made into PREFIX.
# Build output lies outside the clone, so that another clone need not build it again.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weighbridge/target
export CARGO_TERM_COLOR ?= auto

PREFIX ?= /usr/local
SHARE = $(DESTDIR)$(PREFIX)/share

.PHONY: quickstart build install uninstall packages setup setup-gate setup-tests check test test-all accuracy peers clean

quickstart: build
	./weigh run suites/quickstart.toml

build: setup
	cargo build --release --locked -p weighbridge
	ln -sfn "$(CARGO_TARGET_DIR)/release/weigh" weigh

# It builds nothing, so that it may be done by another user, who need not have Rust.
weigh:
	@echo "install: there is no ./weigh; run \`make build\` first" >&2; exit 2

install: weigh
	install -D weigh "$(DESTDIR)$(PREFIX)/bin/weigh"
	./weigh --quiet man --out "$(SHARE)/man/man1"
	mkdir -p "$(SHARE)/bash-completion/completions" "$(SHARE)/zsh/site-functions" "$(SHARE)/fish/vendor_completions.d"
	./weigh completions bash >"$(SHARE)/bash-completion/completions/weigh"
	./weigh completions zsh >"$(SHARE)/zsh/site-functions/_weigh"
	./weigh completions fish >"$(SHARE)/fish/vendor_completions.d/weigh.fish"

uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/weigh" "$(SHARE)/man/man1/weigh.1" "$(SHARE)"/man/man1/weigh-*.1 \
	    "$(SHARE)/bash-completion/completions/weigh" "$(SHARE)/zsh/site-functions/_weigh" \
	    "$(SHARE)/fish/vendor_completions.d/weigh.fish"

# A static program for any Linux in dist/, with a Python wheel and an npm package that carry it; packaging/Containerfile makes
# an image of it.
packages: setup
	packaging/build dist

setup:
	@scripts/setup

setup-gate:
	@scripts/setup --gate

setup-tests:
	@scripts/setup --tests

check: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked --lib --bins

test: setup-gate
	@scripts/test

# What fails is told at the end, and the rest goes on.
test-all: setup-tests test build
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
