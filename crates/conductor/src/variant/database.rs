//! The server of a variant's database, started before the service that keeps its records there.
//!
//! It runs in the service's network, where nothing but its service asks it, on the cores of its variant.

use weighbridge_lab::layers::Site;
use weighbridge_lab::process::Running;
use weighbridge_lab::process::launch::Allowed;
use weighbridge_lab::service::postgres::{DatabaseFolder, Template};
use weighbridge_model::experiment::{DATABASE_VARIABLE, PostgresSettings};
use weighbridge_model::record::DatabaseFacts;

use crate::variant::VariantError;
use crate::variant::launcher::{VariantLauncher, VariantStart};
use crate::variant::output::OutputCapture;
use crate::with_variant::with_variant;

#[derive(Debug)]
pub(crate) struct StartedDatabase {
    pub running: Running,
    pub facts: DatabaseFacts,
    /// stderr first.
    pub logs: [OutputCapture; 2],
    pub folder: DatabaseFolder,
}

impl StartedDatabase {
    /// What tells the service of it.
    pub fn variable(&self) -> (String, String) {
        (DATABASE_VARIABLE.to_owned(), self.folder.variable(self.running.port()))
    }
}

impl VariantLauncher<'_> {
    pub(super) fn start_database(
        &self,
        start: VariantStart<'_>,
        template: &Template,
        asked: PostgresSettings,
        site: &Site,
    ) -> Result<StartedDatabase, VariantError> {
        let variant = start.variant;
        let logs = self.captures(start, ["database-err", "database-out"])?;
        let [stderr, stdout] = logs.each_ref().map(OutputCapture::path);
        let folder =
            template.copy(self.lab, &self.file_stem(start), asked).map_err(with_variant(&variant.name))?;
        let mut launch = folder.launch(format!("database of {}", variant.name), stdout, stderr);
        launch.cores = Some(self.cores(start).to_vec());
        let running = self.launch_in(site, variant, &launch, Allowed::default(), &logs)?;
        let facts = DatabaseFacts {
            engine: "postgres".to_owned(),
            version: template.version().to_owned(),
            start: running.ready_after(),
            settings: folder.settings(),
        };
        Ok(StartedDatabase { running, facts, logs, folder })
    }
}
