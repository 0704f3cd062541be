//! The matrix: a factorial over any key. Keys of `workload` and `load` make points, all others make variants.

use super::node::{ExperimentError, Node, Value};
use crate::id::PointLabel;

/// Most combinations of variants and points.
const MOST: usize = 10_000;

pub(super) struct PointNode {
    pub label: PointLabel,
    pub workload: Option<Node>,
    pub load: Option<Node>,
}

pub(super) struct Expanded {
    pub points: Vec<PointNode>,
    /// `[[variant]]` tables, from the file or from the matrix.
    pub variants: Vec<Node>,
}

struct Factor {
    key: String,
    values: Vec<Node>,
}

/// Removes `workload`, `load`, `variant` and `matrix` from `root` and expands them.
pub(super) fn expand(file: &str, root: &mut Node) -> Result<Expanded, ExperimentError> {
    let error = |line, message| ExperimentError { file: file.to_owned(), line, message };
    let (workload, load) = (root.remove("workload"), root.remove("load"));
    let variant = root.remove("variant");
    let matrix = root.remove("matrix");
    let factors =
        matrix.as_ref().map_or(Ok(Vec::new()), factors).map_err(|(line, message)| error(line, message))?;
    let (point_factors, variant_factors): (Vec<_>, Vec<_>) =
        factors.into_iter().partition(|f| f.key.starts_with("workload.") || f.key.starts_with("load."));
    let size = |factors: &[Factor]| factors.iter().map(|f| f.values.len()).fold(1, usize::saturating_mul);
    if size(&point_factors).saturating_mul(size(&variant_factors)) > MOST {
        return Err(error(
            matrix.map_or(0, |m| m.line),
            format!("`[matrix]` makes more than {MOST} combinations"),
        ));
    }

    let points = combinations(&point_factors).into_iter().map(|chosen| {
        let mut tree = Node { line: 0, value: Value::Table(Vec::new()) };
        for (key, node) in [("workload", &workload), ("load", &load)] {
            if let Some(node) = node {
                tree.set(key, node.clone());
            }
        }
        for (key, value) in &chosen {
            tree.set(key, (*value).clone());
        }
        let label = chosen.iter().map(|(key, value)| ((*key).to_owned(), value.show())).collect();
        PointNode { label, workload: tree.remove("workload"), load: tree.remove("load") }
    });
    let points: Vec<PointNode> = points.collect();
    let points_count = points.len();

    let variants = match (variant, variant_factors.is_empty()) {
        (Some(node), true) => match node.value {
            Value::List(items) if items.len().saturating_mul(points_count) > MOST => {
                let message = format!(
                    "{} variants at {points_count} points are more than {MOST} combinations; measure fewer, or in several files",
                    items.len()
                );
                return Err(error(node.line, message));
            }
            Value::List(items) => items,
            _ => {
                return Err(error(
                    node.line,
                    "`variant` must be written `[[variant]]`, once for each".to_owned(),
                ));
            }
        },
        (Some(node), false) => {
            let keys: Vec<_> = variant_factors.iter().map(|f| format!("`{}`", f.key)).collect();
            let message = format!(
                "`[[variant]]` and the matrix keys {} cannot stand together; keep one (a matrix beside `[[variant]]` may only vary `workload.*` and `load.*`)",
                keys.join(", ")
            );
            return Err(error(node.line, message));
        }
        (None, true) => Vec::new(),
        (None, false) => combinations(&variant_factors).iter().map(|chosen| variant_table(chosen)).collect(),
    };
    Ok(Expanded { points, variants })
}

/// Factors in the order of the file; a nested table (`workload.size = …` or `[matrix.workload]`) gives dotted
/// keys.
fn factors(matrix: &Node) -> Result<Vec<Factor>, (usize, String)> {
    let mut found = Vec::new();
    collect("", matrix, &mut found)?;
    Ok(found)
}

fn collect(prefix: &str, node: &Node, found: &mut Vec<Factor>) -> Result<(), (usize, String)> {
    let Value::Table(entries) = &node.value else {
        return Err((node.line, "`matrix` must be a table".to_owned()));
    };
    for (key, value) in entries {
        let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match &value.value {
            Value::Table(_) => collect(&key, value, found)?,
            Value::List(values) if !values.is_empty() => {
                check_values(&key, values).map_err(|message| (value.line, message))?;
                found.push(Factor { key, values: values.clone() });
            }
            _ => {
                let message =
                    format!("`matrix.{key}` must be a list of at least one value, not `{}`", value.show());
                return Err((value.line, message));
            }
        }
    }
    Ok(())
}

/// Refuses values that labels would show alike, and tables in a point's value, which a label cannot show.
fn check_values(key: &str, values: &[Node]) -> Result<(), String> {
    let shown: Vec<_> = values.iter().map(Node::show).collect();
    if let Some(at) = (1..shown.len()).find(|at| shown[..*at].contains(&shown[*at])) {
        return Err(format!("`matrix.{key}` holds `{}` twice; leave one out", shown[at]));
    }
    if (key.starts_with("workload.") || key.starts_with("load.")) && values.iter().any(holds_table) {
        return Err(format!("`matrix.{key}` cannot hold tables; write an experiment for each, a suite"));
    }
    Ok(())
}

fn holds_table(node: &Node) -> bool {
    match &node.value {
        Value::Table(_) => true,
        Value::List(items) => items.iter().any(holds_table),
        _ => false,
    }
}

/// Every combination; the last factor varies fastest. One empty combination if there is no factor.
fn combinations(factors: &[Factor]) -> Vec<Vec<(&str, &Node)>> {
    factors.iter().fold(vec![Vec::new()], |done, factor| {
        done.iter()
            .flat_map(|chosen: &Vec<(&str, &Node)>| {
                factor.values.iter().map(|value| {
                    let mut chosen = chosen.clone();
                    chosen.push((factor.key.as_str(), value));
                    chosen
                })
            })
            .collect()
    })
}

/// A `[[variant]]` table with the chosen values, named after them.
fn variant_table(chosen: &[(&str, &Node)]) -> Node {
    let line = chosen.first().map_or(0, |(_, value)| value.line);
    let mut table = Node { line, value: Value::Table(Vec::new()) };
    let name = |(key, value): &(&str, &Node)| match *key {
        "layers" => super::layers::short(value),
        "database" => super::database::short(value),
        _ => value.show(),
    };
    let names: Vec<_> = chosen.iter().map(name).collect();
    table.set("name", Node { line, value: Value::Text(names.join("/")) });
    for (key, value) in chosen {
        table.set(key, (*value).clone());
    }
    table
}
