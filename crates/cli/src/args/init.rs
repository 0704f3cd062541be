//! Arguments of `weigh init`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Arguments of `weigh init`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = false,
    subcommand_precedence_over_arg = true,
    disable_help_subcommand = true,
    after_help = "Examples:
  weigh init http://127.0.0.1:8080/items http://127.0.0.1:8081/items
  weigh init --command './server --port {port}' /items
  weigh init 'curl -X POST -d @order.json http://127.0.0.1:8080/orders'",
    after_long_help = "Examples:
  weigh init http://127.0.0.1:8080/items
  weigh init http://127.0.0.1:8080/items http://127.0.0.1:8081/items
  weigh init --command './server --port {port}' /items
  weigh init curl -X POST -H 'Content-Type: application/json' -d '{\"id\": 1}' http://127.0.0.1:8080/items
  weigh init session.har --origin https://shop.example.org --skip-assets
  weigh init openapi.yaml --url http://127.0.0.1:8080 --methods get,post
  weigh init 'mutilate -s localhost -K fb_key -V fb_value --search 99:1000'
  weigh init person --jmh '-i 20 -wi 20 -f 2 -t 4 -r 1 -w 1'"
)]
pub struct Init {
    /// URL, command line of curl, mutilate or memtier, HAR or OpenAPI.
    ///
    /// URL of your service, a command line of curl, mutilate or memtier in quotes (or without: `weigh init curl …`), a
    /// recording (`.har`) or a description of an API (OpenAPI, `.yaml` or `.json`); `-` reads one of these from stdin. With
    /// --command the path that is asked for. `person`: one API over three stacks. Without anything: an experiment with two of our services.
    #[arg(value_name = "URL|LINE|FILE")]
    pub source: Option<String>,
    /// URL of the alternative.
    ///
    /// URL of the alternative: the experiment weighs it against the first.
    #[arg(value_name = "URL", conflicts_with_all = ["command", "har", "openapi"])]
    pub second: Option<String>,
    /// The requests as a command line of another program, not quoted.
    #[command(subcommand)]
    pub line: Option<ForeignLine>,
    /// A program that is started, `{port}` for its port.
    ///
    /// A program of yours that is started for the experiment, with its arguments; `{port}` stands for its port.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["har", "openapi"])]
    pub command: Option<String>,
    /// Recording of a browser or proxy (HAR 1.2), whatever its name.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source", "openapi"], hide_short_help = true)]
    pub har: Option<PathBuf>,
    /// Of a recording: requests to this origin, such as `https://shop.example.org`; needed where there are several.
    #[arg(long, value_name = "ORIGIN", hide_short_help = true)]
    pub origin: Option<String>,
    /// Of a recording: leave out pictures, scripts, style sheets and fonts.
    #[arg(long, hide_short_help = true)]
    pub skip_assets: bool,
    /// A recording as what one client did, in order (`session`), or as single requests, equal ones as one with its
    /// frequency as weight (`requests`) [default: session].
    #[arg(long = "as", value_enum, value_name = "WHAT", hide_short_help = true)]
    pub taken_as: Option<TakenAs>,
    /// Description of an API (OpenAPI 3.0 or 3.1), whatever its name.
    #[arg(long, value_name = "FILE", conflicts_with = "source", hide_short_help = true)]
    pub openapi: Option<PathBuf>,
    /// Of a description: where the API is served [default: its first server].
    #[arg(long, value_name = "URL", hide_short_help = true)]
    pub url: Option<String>,
    /// Of a description: operations of these methods, comma-separated, or `all` [default: get].
    #[arg(long, value_name = "METHOD", value_delimiter = ',', hide_short_help = true)]
    pub methods: Vec<String>,
    /// Of `person`: how the Java harness (JMH) was called, such as '-i 20 -wi 20 -f 2 -t 4 -r 1 -w 1'.
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, hide_short_help = true)]
    pub jmh: Option<String>,
    /// File to write.
    ///
    /// File to write; `-` is stdout.
    #[arg(short, long, default_value = "experiment.toml", value_name = "FILE")]
    pub output: PathBuf,
    /// Write over an existing file.
    #[arg(long, hide_short_help = true)]
    pub force: bool,
}

/// What a recording is taken as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TakenAs {
    /// What one client did, in order.
    Session,
    /// Single requests.
    Requests,
}

/// A command line of another program as words.
#[derive(Debug, Subcommand)]
pub enum ForeignLine {
    /// A command line of curl, as it is.
    #[command(disable_help_flag = true)]
    Curl(ForeignWords),
    /// A command line of mutilate: the workload `cache`.
    #[command(disable_help_flag = true)]
    Mutilate(ForeignWords),
    /// A command line of memtier: the workload `cache`.
    #[command(disable_help_flag = true)]
    Memtier(ForeignWords),
}

/// What stands behind the program's name.
#[derive(Debug, Args)]
pub struct ForeignWords {
    /// Its options, and curl's URL; or all of them in one pair of quotes.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS", required = true)]
    pub words: Vec<String>,
}
