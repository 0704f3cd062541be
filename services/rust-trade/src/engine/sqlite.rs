//! The brokerage in SQLite: in memory, with one connection behind a lock, or in a file, with a write-ahead log and a pool.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::thread::available_parallelism;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, TransactionBehavior};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

use crate::engine::sqlite_calls as calls;
use crate::engine::{Asked, Engine, Fault, Outcome, sql};
use crate::population::Population;
use crate::records::{
    Account, Contents, HoldingList, HomeReply, Order, PortfolioReply, Profile, Quote, RegisterRequest,
    SellFirstReply, SwitchUserReply, UpdateRequest,
};

const SCHEMA: &str = "
    CREATE TABLE stock (symbol TEXT PRIMARY KEY, company TEXT NOT NULL, price INTEGER NOT NULL,
        open INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL, change INTEGER NOT NULL,
        volume INTEGER NOT NULL) STRICT;
    CREATE TABLE profile (user_id TEXT PRIMARY KEY, full_name TEXT NOT NULL, address TEXT NOT NULL,
        email TEXT NOT NULL, card TEXT NOT NULL, password TEXT NOT NULL) STRICT;
    CREATE TABLE account (id INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL UNIQUE,
        balance INTEGER NOT NULL, open_balance INTEGER NOT NULL, logins INTEGER NOT NULL,
        logouts INTEGER NOT NULL, last_login INTEGER, created INTEGER NOT NULL) STRICT;
    CREATE TABLE holding (id INTEGER PRIMARY KEY AUTOINCREMENT, account INTEGER NOT NULL, symbol TEXT NOT NULL,
        quantity INTEGER NOT NULL, price INTEGER NOT NULL, bought INTEGER NOT NULL) STRICT;
    CREATE INDEX holding_account ON holding (account);
    CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, account INTEGER NOT NULL, kind TEXT NOT NULL,
        status TEXT NOT NULL, symbol TEXT NOT NULL, quantity INTEGER NOT NULL, price INTEGER NOT NULL,
        fee INTEGER NOT NULL, holding INTEGER NOT NULL, opened INTEGER NOT NULL,
        completed INTEGER NOT NULL) STRICT;
    CREATE INDEX orders_account ON orders (account, status);
    CREATE INDEX orders_holding ON orders (holding);
";

/// More statements than there are.
const STATEMENTS: usize = 64;

/// The least connections to a file.
const LEAST_CONNECTIONS: usize = 4;

pub struct Sqlite {
    /// One permit for each connection, so that a call that waits for one holds up no thread.
    permits: Semaphore,
    free: Mutex<Vec<Connection>>,
    /// What was there at first, in memory.
    snapshot: Mutex<Connection>,
    /// Whether a call waits for the disk, or for others that do.
    blocks: bool,
}

impl Sqlite {
    pub fn in_memory(population: &Population) -> Outcome<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(SCHEMA)?;
        calls::populate(&mut connection, population)?;
        Self::over(vec![connection], false)
    }

    pub fn in_folder(folder: &Path, population: &Population) -> Outcome<Self> {
        let file = folder.join("trade.db");
        if fs::exists(&file).unwrap_or(true) {
            return Err(Fault::Broken(format!(
                "{} is there already, or cannot be looked for",
                file.display()
            )));
        }
        let mut first = Connection::open(&file)?;
        first.pragma_update(None, "journal_mode", "wal")?;
        first.execute_batch(SCHEMA)?;
        calls::populate(&mut first, population)?;
        let number = (2 * available_parallelism().map_or(1, usize::from)).max(LEAST_CONNECTIONS);
        let more = (1..number).map(|_| Connection::open(&file));
        let connections = [Ok(first)].into_iter().chain(more).collect::<Result<Vec<_>, _>>()?;
        Self::over(connections, true)
    }

    fn over(connections: Vec<Connection>, blocks: bool) -> Outcome<Self> {
        for connection in &connections {
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
        }
        let mut snapshot = Connection::open_in_memory()?;
        copy(&connections[0], &mut snapshot)?;
        let permits = Semaphore::new(connections.len());
        Ok(Self { permits, free: Mutex::new(connections), snapshot: Mutex::new(snapshot), blocks })
    }

    /// Works with a connection that nobody else has.
    async fn with<T>(&self, work: impl FnOnce(&mut Connection) -> Outcome<T> + Send) -> Outcome<T> {
        let _permit = self.permits.acquire().await.expect("it is never closed");
        let mut connection = locked(&self.free).pop().expect("a permit is a connection");
        let outcome =
            if self.blocks { block_in_place(|| work(&mut connection)) } else { work(&mut connection) };
        locked(&self.free).push(connection);
        outcome
    }

    /// One transaction, which has the lock for writing from its beginning: later it could only fail.
    async fn write<T>(&self, work: impl FnOnce(&Connection) -> Outcome<T> + Send) -> Outcome<T> {
        self.transaction(TransactionBehavior::Immediate, work).await
    }

    /// One transaction that sees the database at one moment.
    async fn read<T>(&self, work: impl FnOnce(&Connection) -> Outcome<T> + Send) -> Outcome<T> {
        self.transaction(TransactionBehavior::Deferred, work).await
    }

    async fn transaction<T>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Connection) -> Outcome<T> + Send,
    ) -> Outcome<T> {
        self.with(|connection| {
            let transaction = connection.transaction_with_behavior(behavior)?;
            let reply = work(&transaction)?;
            transaction.commit()?;
            Ok(reply)
        })
        .await
    }
}

#[tonic::async_trait]
impl Engine for Sqlite {
    async fn login(&self, user: &str, password: &str) -> Outcome<Account> {
        self.write(|db| calls::login(db, user, password)).await
    }

    async fn logout(&self, user: &str) -> Outcome<Account> {
        self.write(|db| calls::logout(db, user)).await
    }

    async fn account(&self, user: &str) -> Outcome<Account> {
        self.with(|db| calls::account(db, user)).await
    }

    async fn holdings(&self, user: &str) -> Outcome<HoldingList> {
        self.with(|db| calls::holdings(db, user)).await
    }

    async fn quote(&self, symbol: &str) -> Outcome<Quote> {
        self.with(|db| calls::quote(db, symbol)).await
    }

    async fn buy(&self, user: &str, asked: Asked<'_>) -> Outcome<Order> {
        self.write(|db| calls::buy(db, user, asked)).await
    }

    async fn sell(&self, user: &str, holding: i64, factor: Option<i64>) -> Outcome<Order> {
        self.write(|db| calls::sell(db, user, holding, factor)).await
    }

    async fn update(&self, user: &str, fields: &UpdateRequest) -> Outcome<Profile> {
        self.write(|db| calls::update(db, user, fields)).await
    }

    async fn register(&self, fields: &RegisterRequest) -> Outcome<Account> {
        self.write(|db| calls::register(db, fields)).await
    }

    async fn home(&self, user: &str) -> Outcome<HomeReply> {
        self.read(|db| calls::home(db, user)).await
    }

    async fn portfolio(&self, user: &str) -> Outcome<PortfolioReply> {
        self.read(|db| calls::portfolio(db, user)).await
    }

    async fn sell_first(&self, user: &str, asked: Asked<'_>) -> Outcome<SellFirstReply> {
        self.write(|db| calls::sell_first(db, user, asked)).await
    }

    async fn switch_user(&self, user: &str, fields: &RegisterRequest) -> Outcome<SwitchUserReply> {
        self.write(|db| {
            let account = Some(calls::logout(db, user)?);
            Ok(SwitchUserReply { account, registered: Some(calls::register(db, fields)?) })
        })
        .await
    }

    async fn reset(&self) -> Outcome<()> {
        self.with(|connection| {
            copy(&locked(&self.snapshot), connection)?;
            // Or the next passage would write the log of this copy back.
            if self.blocks {
                connection.pragma_query(None, "wal_checkpoint", |_| Ok(()))?;
            }
            Ok(())
        })
        .await
    }

    async fn contents(&self) -> Outcome<Contents> {
        self.read(|db| {
            Ok(Contents {
                quotes: all(db, sql::QUOTES, [], sql::quote)?,
                profiles: all(db, sql::PROFILES, [], sql::secret)?,
                accounts: all(db, sql::ACCOUNTS, [], sql::account)?,
                holdings: all(db, sql::ALL_HOLDINGS, [], sql::owned_holding)?,
                orders: all(db, sql::ORDERS, [], sql::owned_order)?,
            })
        })
        .await
    }
}

// Statements

/// The first row's record.
pub fn first<T>(
    db: &Connection,
    text: &str,
    parameters: impl Params,
    record: fn(&dyn sql::Row) -> Outcome<T>,
) -> Outcome<Option<T>> {
    let row = db.prepare_cached(text)?.query_row(parameters, |row| Ok(record(row))).optional()?;
    row.transpose()
}

/// All rows' records.
pub fn all<T>(
    db: &Connection,
    text: &str,
    parameters: impl Params,
    record: fn(&dyn sql::Row) -> Outcome<T>,
) -> Outcome<Vec<T>> {
    let mut statement = db.prepare_cached(text)?;
    let mut rows = statement.query(parameters)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(record(row)?);
    }
    Ok(records)
}

impl sql::Row for rusqlite::Row<'_> {
    fn int(&self, place: usize) -> Outcome<i64> {
        Ok(self.get(place)?)
    }

    fn maybe_int(&self, place: usize) -> Outcome<Option<i64>> {
        Ok(self.get(place)?)
    }

    fn text(&self, place: usize) -> Outcome<String> {
        Ok(self.get(place)?)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Again(error.to_string()),
            _ => Self::Broken(error.to_string()),
        }
    }
}

// Reset

/// Makes a database what another is, page by page.
fn copy(from: &Connection, to: &mut Connection) -> Outcome<()> {
    match Backup::new(from, to)?.step(-1)? {
        StepResult::Done => Ok(()),
        other => Err(Fault::Again(format!("the database is in use ({other:?})"))),
    }
}

/// What is behind a lock; whoever panicked with it has left it whole.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
