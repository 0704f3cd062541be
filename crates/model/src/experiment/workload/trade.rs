//! The workload `trade`: scripted sessions of a brokerage. Its keys, read and written.

use serde::{Deserialize, Serialize};
use toml::Table;

use super::{ActionCounting, ActionOperation, ScriptOperations, Spec, Variant, WorkloadSpec, refuse_peers};
use crate::experiment::node::{Node, Read, Reader};
use crate::experiment::protocol::Protocol;
use crate::id::OperationId;

/// Most sessions of a script.
pub const SESSIONS_MOST: u32 = 1 << 20;
/// Most sessions of a passage: about a million requests, which are rendered beforehand and take some 200 MB a variant.
pub(in crate::experiment) const PASSAGE_MOST: u32 = 1 << 15;
/// Most stocks of a script: symbols of three letters suffice for most of them.
pub const STOCKS_MOST: u32 = 10_000;
/// Largest exponent of popularity: at 3 the first stock takes five requests of six.
pub const SKEW_MOST: f64 = 3.0;

/// Most sessions of one user.
const SHARING_MOST: u32 = 16;

/// Actions of a session by the law of its steps, login and logout included: 1.065 targets for each end, of 0.06.
const ACTIONS: f64 = 1.065 / 0.06;
/// Requests of an action of fine grain, about.
const REQUESTS: f64 = 1.74;

/// Into how many requests an action is cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grain {
    /// One per call: `home` is two, `portfolio` one more than there are holdings.
    #[default]
    Fine,
    /// One per action.
    Coarse,
}

impl Grain {
    pub const NAMED: [(&'static str, Self); 2] = [("fine", Self::Fine), ("coarse", Self::Coarse)];
}

/// What orders do to prices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prices {
    #[default]
    Fixed,
    /// Each order moves that of its stock, so that orders of one stock are in each other's way.
    Moving,
}

impl Prices {
    const NAMED: [(&'static str, Self); 2] = [("fixed", Self::Fixed), ("moving", Self::Moving)];
}

/// A size of a script by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScriptSize {
    Small,
    Default,
    Large,
    Huge,
}

impl ScriptSize {
    pub const ALL: [Self; 4] = [Self::Small, Self::Default, Self::Large, Self::Huge];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Default => "default",
            Self::Large => "large",
            Self::Huge => "huge",
        }
    }

    /// The size of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|size| size.name() == name)
    }

    pub const fn sessions(self) -> u32 {
        match self {
            Self::Small => 32,
            Self::Default => 256,
            Self::Large => 1_024,
            Self::Huge => 8_192,
        }
    }
}

/// A request of the brokerage, or an action of several, as it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TradeOperation {
    Login,
    Logout,
    Account,
    Holdings,
    Quote,
    Buy,
    Sell,
    Update,
    Register,
    /// Account and holdings.
    Home,
    /// Holdings and a quote of each.
    Portfolio,
    /// Holdings, and the sale of the first of a number of shares.
    SellFirst,
    /// The logout of one user, and the register of another.
    SwitchUser,
}

impl TradeOperation {
    const FINE: [Self; 13] = [
        Self::Login,
        Self::Logout,
        Self::Account,
        Self::Holdings,
        Self::Quote,
        Self::Buy,
        Self::Sell,
        Self::Update,
        Self::Register,
        Self::Home,
        Self::Portfolio,
        Self::SellFirst,
        Self::SwitchUser,
    ];
    const COARSE: [Self; 9] = [
        Self::Login,
        Self::Logout,
        Self::Quote,
        Self::Buy,
        Self::Update,
        Self::Home,
        Self::Portfolio,
        Self::SellFirst,
        Self::SwitchUser,
    ];

    /// How many of those of fine grain are requests; what follows are actions of several.
    pub const FINE_REQUESTS: usize = 9;

    /// Those that are recorded, in the order of their [`OperationId`]. Of fine grain the last four are actions: their time is
    /// from when their first request is due until their last reply.
    pub const fn recorded(grain: Grain) -> &'static [Self] {
        match grain {
            Grain::Fine => &Self::FINE,
            Grain::Coarse => &Self::COARSE,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::Logout => "logout",
            Self::Account => "account",
            Self::Holdings => "holdings",
            Self::Quote => "quote",
            Self::Buy => "buy",
            Self::Sell => "sell",
            Self::Update => "update",
            Self::Register => "register",
            Self::Home => "home",
            Self::Portfolio => "portfolio",
            Self::SellFirst => "sell-first",
            Self::SwitchUser => "switch-user",
        }
    }

    /// Under which the times of attempts are recorded that were answered *again*: after all operations.
    pub const fn again(grain: Grain) -> OperationId {
        OperationId(Self::recorded(grain).len() as u16)
    }

    /// The actions of a script by their names, in DaCapo's order, each with the operation that has its times.
    const ACTIONS: [(&str, Self); 9] = [
        ("home", Self::Home),
        ("portfolio", Self::Portfolio),
        ("quote", Self::Quote),
        ("buy", Self::Buy),
        ("sell", Self::SellFirst),
        ("update", Self::Update),
        ("register", Self::SwitchUser),
        ("login", Self::Login),
        ("logout", Self::Logout),
    ];

    /// Of fine grain a `portfolio` has quotes, and a `register` the logout of the user before.
    fn counted(self, grain: Grain) -> ActionCounting {
        match (grain, self) {
            (Grain::Fine, Self::Quote) => ActionCounting::Rest,
            (Grain::Fine, Self::Logout) => ActionCounting::Beside(Self::SwitchUser.id(grain)),
            _ => ActionCounting::Alone,
        }
    }

    /// # Panics
    ///
    /// Where the grain has no such operation.
    pub fn id(self, grain: Grain) -> OperationId {
        let at = Self::recorded(grain).iter().position(|one| *one == self);
        OperationId(at.expect("the caller asks for one that the grain has") as u16)
    }
}

/// The name under which the times of attempts are recorded that were answered *again*.
const AGAIN: &str = "again";

/// A script in files, instead of one that follows from the seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFolderSpec {
    /// The folder with `stocks.txt`, `users.txt` and `workload.txt`, relative to the experiment's.
    pub folder: String,
    /// SHA-256 of the three, one after another, once read.
    pub sha256: Option<String>,
}

/// Sessions of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TradeSpec {
    /// Its files; `None` if it is made.
    pub script: Option<ScriptFolderSpec>,
    /// 1 to 32,768.
    pub sessions: u32,
    /// Sessions of the script whose users there are, at least those that are played; `None` for those. A variant's own.
    #[serde(default)]
    pub base: Option<u32>,
    /// 1 to [`STOCKS_MOST`].
    pub stocks: u32,
    /// The stock of rank r by capitalisation is asked for in proportion to r^−skew; 0 to [`SKEW_MOST`].
    pub skew: f64,
    pub grain: Grain,
    #[serde(default)]
    pub prices: Prices,
    /// Sessions of each user, which may be played at once; 1 to 16.
    #[serde(default = "alone")]
    pub sharing: u32,
    /// The run's seed, from which a script without files follows.
    pub seed: u64,
}

impl Default for TradeSpec {
    fn default() -> Self {
        let sessions = ScriptSize::Default.sessions();
        Self {
            script: None,
            sessions,
            base: None,
            stocks: 1_098,
            skew: 0.55,
            grain: Grain::Fine,
            prices: Prices::Fixed,
            sharing: alone(),
            seed: 1,
        }
    }
}

/// Sessions of a user where nothing is said.
const fn alone() -> u32 {
    1
}

impl TradeSpec {
    /// Whether sessions write the same records, so that replies depend on their order.
    pub fn is_contended(&self) -> bool {
        self.prices == Prices::Moving || self.sharing > 1
    }
}

impl Spec for TradeSpec {
    const NAME: &'static str = "trade";

    fn read(reader: &Reader<'_>) -> Read<Self> {
        let standard = Self::default();
        let sizes = ScriptSize::ALL.map(|size| (size.name(), size.sessions()));
        let size = reader.choice("size", &sizes)?;
        let sessions = reader.integer("sessions", 1, PASSAGE_MOST.into())?;
        if size.is_some() && sessions.is_some() {
            let message = "`workload.size` and `workload.sessions` cannot stand together";
            return Err(reader.error(reader.line(), message));
        }
        let sessions = sessions.map(|sessions| sessions as u32).or(size).unwrap_or(standard.sessions);
        let stocks = reader.integer("stocks", 1, STOCKS_MOST.into())?;
        Ok(Self {
            script: read_folder(reader)?,
            sessions,
            base: None,
            stocks: stocks.map_or(standard.stocks, |stocks| stocks as u32),
            skew: reader.value("skew", skew)?.unwrap_or(standard.skew),
            grain: reader.choice("grain", &Grain::NAMED)?.unwrap_or_default(),
            prices: reader.choice("prices", &Prices::NAMED)?.unwrap_or_default(),
            sharing: reader
                .integer("sharing", 1, SHARING_MOST.into())?
                .map_or(alone(), |sharing| sharing as u32),
            seed: standard.seed,
        })
    }

    fn write(&self, table: &mut Table) {
        let grain = Grain::NAMED.iter().find(|(_, grain)| *grain == self.grain).map_or("", |(name, _)| name);
        table.insert("sessions".into(), i64::from(self.sessions).into());
        table.insert("grain".into(), grain.into());
        let prices =
            Prices::NAMED.iter().find(|(_, prices)| *prices == self.prices).map_or("", |(name, _)| name);
        table.insert("prices".into(), prices.into());
        let Some(script) = &self.script else {
            table.insert("stocks".into(), i64::from(self.stocks).into());
            table.insert("skew".into(), self.skew.into());
            table.insert("sharing".into(), i64::from(self.sharing).into());
            return;
        };
        table.insert("script".into(), script.folder.clone().into());
        table.extend(script.sha256.clone().map(|sha256| ("sha256".to_owned(), sha256.into())));
    }

    fn operations(&self) -> Vec<String> {
        let recorded = TradeOperation::recorded(self.grain).iter().map(|one| one.name());
        recorded.chain([AGAIN]).map(str::to_owned).collect()
    }

    fn first_operations(&self) -> Vec<(OperationId, String)> {
        let login = TradeOperation::Login;
        vec![(login.id(self.grain), login.name().to_owned())]
    }

    fn words(&self) -> String {
        let grain = if self.grain == Grain::Coarse { ", coarse" } else { "" };
        let plural = if self.sessions == 1 { "" } else { "s" };
        let from = self.script.as_ref().map(|script| format!(" of `{}`", script.folder)).unwrap_or_default();
        let prices = if self.prices == Prices::Moving { ", moving prices" } else { "" };
        let sharing = match self.sharing {
            1 => String::new(),
            sharing => format!(", {sharing} of each user"),
        };
        format!("trade {} session{plural}{from}{grain}{prices}{sharing}", self.sessions)
    }

    fn session_length(&self) -> f64 {
        if self.grain == Grain::Fine { ACTIONS * REQUESTS } else { ACTIONS }
    }

    fn has_long_sessions(&self) -> bool {
        true
    }

    fn is_stateful(&self) -> bool {
        true
    }

    fn sessions_of_a_passage(&self) -> Option<u32> {
        Some(self.sessions)
    }

    fn script_operations(&self) -> Option<ScriptOperations> {
        let grain = self.grain;
        let actions = TradeOperation::ACTIONS.into_iter().map(|(name, operation)| ActionOperation {
            name,
            operation: operation.id(grain),
            counted: operation.counted(grain),
        });
        let requests = match grain {
            Grain::Fine => TradeOperation::FINE_REQUESTS,
            Grain::Coarse => TradeOperation::recorded(grain).len(),
        };
        Some(ScriptOperations {
            actions: actions.collect(),
            requests: (0..requests as u16).map(OperationId).collect(),
            again: TradeOperation::again(grain),
        })
    }

    fn offered_as(&self, _variant: &Variant) -> Option<&'static str> {
        Some(Self::NAME)
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn scripted(&mut self) -> Option<&mut TradeSpec> {
        self.script.is_some().then_some(self)
    }

    fn check_variants(&self, variants: &[Variant]) -> Result<(), String> {
        refuse_peers(variants, Self::NAME)?;
        let direct = variants.iter().find(|variant| variant.protocol == Protocol::DIRECT);
        if let (true, Some(Variant { name, .. })) = (self.is_contended(), direct) {
            return Err(format!(
                "variant `{name}`: in process a digest shows that replies are right, and with `workload.prices` `moving` or \
                 `workload.sharing` above 1 they depend on the order of sessions; use another `protocol`"
            ));
        }
        let mut based = variants.iter().filter_map(|variant| Some((&variant.name, variant.base?)));
        match (&self.script, based.clone().next(), based.find(|(_, base)| *base < self.sessions)) {
            (Some(script), Some((name, _)), _) => Err(format!(
                "variant `{name}`: the script of `{}` has the users that it has; leave `base` out",
                script.folder
            )),
            (_, _, Some((name, base))) => Err(format!(
                "variant `{name}`: `base` {base} is less than the {} sessions that are played; use a larger one, or a smaller `workload.size`",
                self.sessions
            )),
            _ => Ok(()),
        }
    }

    fn for_variant(&self, variant: &Variant) -> Option<WorkloadSpec> {
        let base = variant.base?;
        Some(WorkloadSpec::Trade(Self { base: Some(base), ..self.clone() }))
    }

    fn check_direct(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

/// The files of a script, beside which nothing may stand that makes one.
fn read_folder(reader: &Reader<'_>) -> Read<Option<ScriptFolderSpec>> {
    let (folder, sha256) = (reader.text("script")?, reader.text("sha256")?);
    let Some(folder) = folder else {
        return match reader.node("sha256") {
            Some(node) => Err(reader.error(
                node.line,
                "`workload.sha256` is of the files that `workload.script` names; name them",
            )),
            None => Ok(None),
        };
    };
    for key in ["stocks", "skew", "sharing"] {
        if let Some(node) = reader.node(key) {
            let message =
                format!("`workload.{key}` makes a script, and `workload.script` names one; remove either");
            return Err(reader.error(node.line, message));
        }
    }
    Ok(Some(ScriptFolderSpec { folder, sha256 }))
}

fn skew(node: &Node) -> Result<f64, String> {
    let skew = node.show().parse().ok().filter(|skew| (0.0..=SKEW_MOST).contains(skew));
    skew.ok_or_else(|| {
        format!("`{}` must be a number from 0 (every stock alike) to {SKEW_MOST}, such as 0.55", node.show())
    })
}

#[cfg(test)]
mod tests {
    use super::{ActionCounting, ActionOperation};
    use crate::experiment::Experiment;

    fn experiment(workload: &str, rest: &str) -> Result<Experiment, String> {
        let text = format!(
            "[workload]\nname = 'trade'\n{workload}\n{rest}\n[[variant]]\nservice = 'rust-trade'\nprotocol = 'direct'\n"
        );
        Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn it_reads_what_it_writes() {
        for (workload, words, operations) in [
            ("", "trade 256 sessions", 14),
            ("size = 'small'", "trade 32 sessions", 14),
            ("sessions = 1\nstocks = 7\nskew = 0\ngrain = 'coarse'", "trade 1 session, coarse", 10),
            ("size = 'small'\nscript = 'dacapo'\nsha256 = 'ab'", "trade 32 sessions of `dacapo`", 14),
        ] {
            let first = experiment(workload, "").expect("an experiment");
            let spec = &first.points[0].workload;
            assert_eq!((spec.words(), spec.operations().len()), (words.to_owned(), operations));
            let again = Experiment::parse("x.toml", &first.to_toml()).expect("what was written");
            assert_eq!(&again.points[0].workload, spec, "{}", first.to_toml());
        }
    }

    #[test]
    fn every_action_has_an_operation_and_operations_of_others_are_not_counted_twice() {
        for (grain, shared) in [("fine", vec!["quote", "logout"]), ("coarse", vec![])] {
            let experiment = experiment(&format!("grain = '{grain}'"), "").expect("an experiment");
            let spec = &experiment.points[0].workload;
            let (operations, names) = (spec.script_operations().expect("a script"), spec.operations());
            let has_parts = |one: &&ActionOperation| one.counted != ActionCounting::Alone;
            let found: Vec<_> = operations.actions.iter().filter(has_parts).map(|one| one.name).collect();
            assert_eq!((operations.actions.len(), found), (9, shared), "{grain}");
            assert_eq!((operations.requests.len(), &names[operations.again.index()][..]), (9, "again"));
            let sell = operations.actions.iter().find(|one| one.name == "sell").expect("it is one");
            assert_eq!(names[sell.operation.index()], "sell-first");
        }
    }

    #[test]
    fn contention_is_read_and_written_over_protocols() {
        for (workload, words) in [
            ("prices = 'moving'", "trade 256 sessions, moving prices"),
            ("sharing = 2\nskew = 3", "trade 256 sessions, 2 of each user"),
            ("prices = 'moving'\nscript = 'dacapo'", "trade 256 sessions of `dacapo`, moving prices"),
        ] {
            let text = format!(
                "[workload]\nname = 'trade'\n{workload}\n[[variant]]\nservice = 's'\nprotocol = 'grpc'\n"
            );
            let first = Experiment::parse("x.toml", &text).expect(workload);
            let spec = &first.points[0].workload;
            assert_eq!(spec.words(), words);
            let again = Experiment::parse("x.toml", &first.to_toml()).expect("what was written");
            assert_eq!(&again.points[0].workload, spec, "{}", first.to_toml());
        }
    }

    #[test]
    fn errors_say_what_is_allowed() {
        for (workload, rest, expected) in [
            (
                "script = 'x'\nstocks = 9",
                "",
                "`workload.stocks` makes a script, and `workload.script` names one",
            ),
            ("script = 'x'\nskew = 1", "", "`workload.skew` makes a script"),
            ("sha256 = 'x'", "", "`workload.sha256` is of the files that `workload.script` names"),
            ("size = 'tiny'", "", "small"),
            ("size = 'small'\nsessions = 3", "", "cannot stand together"),
            ("sessions = 0", "", "from 1 to 32768"),
            ("stocks = 10001", "", "from 1 to 10000"),
            ("skew = 3.1", "", "from 0 (every stock alike) to 3"),
            ("grain = 'medium'", "", "coarse"),
            ("prices = 'rising'", "", "moving"),
            ("sharing = 17", "", "from 1 to 16"),
            ("script = 'x'\nsharing = 2", "", "`workload.sharing` makes a script"),
            ("prices = 'moving'", "", "use another `protocol`"),
            ("sharing = 2", "", "use another `protocol`"),
            ("", "[load]\nmodel = 'open'\nrate = '100/s'", "closed"),
            ("", "[load]\nthink = '1 ms'", "closed"),
            (
                "",
                "[load]\nmodel = 'partly-open'\nsessions = '8/s'\nlength = 'workload'",
                "256 sessions take 32 s to arrive",
            ),
            (
                "",
                "[load]\nmodel = 'partly-open'\nlength = 'workload'\nprofile = 'ramp:1/s..9/s over 30s'",
                "at one rate",
            ),
            ("", "[load]\nmodel = 'partly-open'\nsessions = '9/s'\nlength = 10", "length = \"workload\""),
            ("", "[load]\nmodel = 'partly-open'\nsessions = '9/s'\nlength = 'workload'", "must be `closed`"),
            ("sessions = 3", "[load]\nconnections = 4", "3 sessions"),
            ("", "[plan]\npairing = 'sequential'", "windows"),
            ("", "[plan]\nwindow = '20 ms'", "`plan.window`"),
            ("", "[capacity]\nobjective = 'p99 < 1 ms'", "capacity"),
            ("size = 'huge'", "[load]\nconnections = 1025", "1,024 at most"),
            ("", "[load]\nin_flight = 2", "in_flight"),
        ] {
            let error = experiment(workload, rest).expect_err(workload);
            assert!(error.contains(expected), "{workload} {rest}: {error}");
        }
    }
}
