//! The three files of a script in DaCapo's form: `stocks.txt`, `users.txt`, `workload.txt`.
//!
//! UTF-8, a line each, columns parted by one tabulator; lines that begin with `#` are comments. What is written is read back
//! the same, and DaCapo's own files are read too; its `a` (account) is left out, as its driver does.

mod read;
mod row;
mod write;

pub use read::{ScriptFiles, count, read};
pub use row::ScriptFileError;
pub use write::{session_line, stock_line, user_line, write};

/// The files' names.
pub const STOCKS: &str = "stocks.txt";
pub const USERS: &str = "users.txt";
pub const WORKLOAD: &str = "workload.txt";
