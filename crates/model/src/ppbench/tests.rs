//! Tests of the CSV of ppbench: what is read, what is refused where, and that what was read is written again.

use super::*;

const HEADER: &str = "\"Machine Tag\",\"Experiment Tag\",\"Document Path\",\"Failed requests\",\"Concurrency Level\",\
                      \"Total transferred\",\"Time per request\",\"Transfer rate\",\"Requests per second\",\"Retries\",\
                      \"Response Code\"\n";

fn file(rows: &str) -> String {
    format!("{HEADER}{rows}")
}

const GOOD: &str = "\"m3.large\",\"docker, go\",\"/mping/1961\",\"0\",\"1\",\"1961\",\"0.953\",\"2057712.487\",\"1049.3\",\"0\",\"200\"\n";
const FAILED: &str = "\"m3.large\",\"docker, go\",\"/mping/1062\",\"1\",\"10\",\"0\",\"4\",\"0.0\",\"250.0\",\"100\",\"503\"\n";
const BACKWARDS: &str =
    "\"m3.large\",\"ruby\",\"/mping/7\",\"0\",\"1\",\"7\",\"-993.1\",\"-7.0\",\"-1.0\",\"3\",\"200\"\n";
const ENDLESS: &str =
    "\"m3.large\",\"ruby\",\"/mping/8\",\"0\",\"1\",\"8\",\"0\",\"Infinity\",\"NaN\",\"0\",\"200\"\n";

#[test]
fn failed_retried_and_backward_rows_are_kept_and_the_round_trip_is_exact() {
    let text = file(&[GOOD, FAILED, BACKWARDS, ENDLESS].concat());
    let table = read(&text).unwrap();
    assert_eq!((table.layout, table.rows.len()), (Layout::Ppbench, 4));
    assert_eq!(write(&table.rows), text);
    let good: Vec<bool> = table.rows.iter().map(Row::is_good).collect();
    assert_eq!(good, [true, false, false, false]);
    let [first, second, ..] = &table.rows[..] else { panic!() };
    assert_eq!((first.machine(), first.experiment(), first.size()), ("m3.large", "docker, go", 1961));
    assert_eq!(
        (first.time_ms(), second.fault(), second.retries()),
        (0.953, Some(Fault::Failed), Some(100.0))
    );
}

#[test]
fn unquoted_fields_other_line_ends_and_a_byte_order_mark_read_the_same() {
    let text = file(GOOD);
    let other = format!(
        "\u{feff}{}",
        text.replace("\"docker, go\"", "docker").replace('"', "").replace('\n', "\r\n")
    );
    let (plain, other) = (read(&text).unwrap(), read(&other).unwrap());
    assert_eq!(other.rows[0].experiment(), "docker");
    assert_eq!(other.rows[0].time_ms(), plain.rows[0].time_ms());
    let quotes = file(&GOOD.replace("docker, go", "a \"\"b\"\"\nc"));
    assert_eq!(read(&quotes).unwrap().rows[0].experiment(), "a \"b\"\nc");
    assert_eq!(write(&read(&quotes).unwrap().rows), quotes);
}

#[test]
fn what_is_damaged_is_named_with_line_and_column() {
    let broken = |from: &str, to: &str| file(&[FAILED, &GOOD.replace(from, to)].concat());
    for (text, wanted) in [
        (String::new(), "line 1, column `Machine Tag`: the file is empty"),
        (HEADER.replace("Retries", "Tries"), "line 1, column 10: `Tries` where `Retries` is expected"),
        (
            HEADER.replace(",\"Response Code\"", ""),
            "line 1, column 11: nothing where `Response Code` is expected",
        ),
        (
            broken("0.953", "fast"),
            "line 3, column `Time per request`: `fast` is not a time of at most 1e12 ms",
        ),
        (broken("0.953", "NaN"), "line 3, column `Time per request`: `NaN` is not a time of at most 1e12 ms"),
        (
            broken("0.953", "1e303"),
            "line 3, column `Time per request`: `1e303` is not a time of at most 1e12 ms",
        ),
        (
            broken("2057712.487", "1e303"),
            "line 3, column `Transfer rate`: `1e303` is not a number from -1e18 to 1e18",
        ),
        (
            broken("\"0\",\"1\"", "\"0.5\",\"1\""),
            "line 3, column `Failed requests`: `0.5` is not a whole number",
        ),
        (broken("\"200\"", "\"\""), "line 3, column `Response Code`: `` is not a status"),
        (broken("\"200\"", "\"65536\""), "line 3, column `Response Code`: `65536` is not a status"),
        (
            broken("/mping/1961", "/mping/"),
            "line 3, column `Document Path`: `/mping/` is not a path that ends in a size",
        ),
        (broken("\"200\"", "\"OK\""), "line 3, column `Response Code`: `OK` is not a status"),
        (broken("\"0\",\"1\"", "\"1\""), "line 3, column 10: 10 fields where 11 are expected"),
        (broken("\"0.953\"", "\"0.953"), "line 3, column 7: text behind a closing quote"),
        (broken("\"200\"", "\"200"), "line 3, column 11: a quote that is never closed"),
        (broken("\"1\"", "1\""), "line 3, column 5: a stray quote"),
        (file("\"\"\n"), "line 2, column 1: 1 fields where 11 are expected"),
        (file("\n\nx\n"), "line 4, column 1: 1 fields where 11 are expected"),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}\nwanted {wanted}");
    }
}

#[test]
fn runs_of_apache_bench_become_rows_with_the_time_of_a_request() {
    let text = format!(
        "{}\n\"Docker\",\"/ping/500\",\"500\",\"2.368\",\"1000\",\"0\",\"50\",\"655000\",\"422.25\",\"270.09\",\"2.368\"\n",
        APACHE_BENCH_COLUMNS.join(",")
    );
    let table = read(&text).unwrap();
    assert_eq!(table.layout, Layout::ApacheBench);
    let row = &table.rows[0];
    assert_eq!((row.machine(), row.experiment(), row.size()), ("", "Docker", 500));
    // 1000 requests, 50 at a time, in 2.368 s: each took 118.4 ms. Both rates are of that time.
    assert!((row.time_ms() - 118.4).abs() < 1e-9 && row.is_good());
    assert!((row.transfer_bytes_per_s() - 500.0 / 0.1184).abs() < 1e-9);
    assert!((row.fields[8].parse::<f64>().unwrap() - 1.0 / 0.1184).abs() < 1e-9);
    assert_eq!(
        (row.retries(), row.status, row.is_relayed(), table.requests),
        (None, None, false, Some((1000, 1000)))
    );
    assert!(write(&table.rows).ends_with(",\"\",\"\"\n"), "what nobody knows is empty, not 0 and 200");
    assert_eq!(series(&table.rows, &Naming::default())[0].retried(), None);
    assert_eq!(read(&write(&table.rows)).unwrap().rows, table.rows, "as a CSV of ppbench it reads the same");
    assert_eq!(names(&table.rows, &Naming::default()), ["Docker"]);
}

#[test]
fn rows_are_told_why_their_time_may_not_be_used() {
    for (size, failed, length, time, status, fault) in [
        (1961, "0", "1961", "1", "200", None),
        (1961, "1", "0", "1", "503", Some(Fault::Failed)),
        (1961, "0", "1961", "1", "404", Some(Fault::Status)),
        (1961, "0", "1960", "1", "200", Some(Fault::Length)),
        (1961, "0", "0", "1", "200", Some(Fault::Length)),
        (1961, "0", "1961.5", "1", "200", Some(Fault::Length)),
        (1961, "0", "NaN", "1", "200", Some(Fault::Length)),
        (1961, "0", "1961.0", "1", "200", None),
        // Below 4 bytes the services of ppbench differ in what they send.
        (3, "0", "4", "1", "200", None),
        (4, "0", "3", "1", "200", Some(Fault::Length)),
        (1961, "0", "1961", "0", "200", Some(Fault::Time)),
        (1961, "0", "1961", "-2.5", "200", Some(Fault::Time)),
        (1961, "0", "1961", "1e-300", "200", Some(Fault::Time)),
        (1961, "1", "0", "-2.5", "404", Some(Fault::Failed)),
    ] {
        let rows = file(&format!("m,go,/mping/{size},{failed},1,{length},{time},1,1,0,{status}\n"));
        let row = &read(&rows).unwrap().rows[0];
        assert_eq!(row.fault(), fault, "{rows}");
    }
    let rows = read(&file(&[FAILED, FAILED, BACKWARDS, GOOD].concat())).unwrap().rows;
    let all = series(&rows, &Naming::default());
    let faults: Vec<String> = all.iter().map(|series| series.faults().to_string()).collect();
    assert_eq!(faults, ["2 failed", "1 of a time not above 0"]);
    assert_eq!(all.iter().map(Series::retried).collect::<Vec<_>>(), [Some(2), Some(1)]);
    let sum: Faults = all.iter().map(Series::faults).sum();
    assert_eq!((sum.to_string().as_str(), sum.total()), ("2 failed, 1 of a time not above 0", 3));
}

fn names(rows: &[Row], naming: &Naming) -> Vec<String> {
    series(rows, naming).into_iter().map(|series| series.name).collect()
}

#[test]
fn series_are_told_apart_by_their_tags_whatever_a_naming_file_calls_them() {
    let rows = |tags: &[(&str, &str)]| {
        let row = |(machine, experiment): &(&str, &str)| {
            format!("{machine},{experiment},/mping/9,0,1,9,1,1,1,0,200\n")
        };
        read(&file(&tags.iter().map(row).collect::<String>())).unwrap().rows
    };
    let naming = Naming::parse(
        r#"{"machines": {"m1": "M", "m2": "M"}, "experiments": {"a": "X", "b": "X", "c": "X (a)", "d": "", "e": "X on M"}}"#,
    )
    .unwrap();
    let same_experiment = rows(&[("", "a"), ("", "b"), ("", "a"), ("", "other")]);
    let all = series(&same_experiment, &naming);
    let told: Vec<_> = all.iter().map(|series| (series.name.as_str(), series.count())).collect();
    assert_eq!(told, [("X (a)", 2), ("X (b)", 1), ("other", 1)]);
    for (tags, wanted) in [
        (&[("m1", "a"), ("m2", "a")][..], &["X on M (m1)", "X on M (m2)"][..]),
        (
            &[("m1", "a"), ("m2", "b")],
            &["X on M (experiment a, machine m1)", "X on M (experiment b, machine m2)"],
        ),
        (&[("", "e"), ("m1", "a")], &["X on M (experiment e)", "X on M (experiment a, machine m1)"]),
        // What one gets of its tags another has by the file.
        (&[("", "a"), ("", "b"), ("", "c")], &["X (a)", "X (b)", "X (a) 2"]),
        (&[("", ""), ("", "d")], &["untagged (untagged)", "untagged (d)"]),
    ] {
        assert_eq!(names(&rows(tags), &naming), wanted);
    }
    // Without a naming file too.
    let alike = rows(&[("", "go on m"), ("m", "go")]);
    assert_eq!(
        names(&alike, &Naming::default()),
        ["go on m (experiment go on m)", "go on m (experiment go, machine m)"]
    );
}

#[test]
fn one_naming_file_names_measured_variants_by_tag_or_by_name() {
    let naming =
        Naming::parse(r#"{"experiments": {"docker/go": "Go in Docker", "go": "Go", "rust": "Rust"}}"#)
            .unwrap();
    let tagged = |experiment, variant| Tagged { machine: None, experiment, variant: Some(variant) };
    let all = [
        tagged("docker/go", "go"),
        tagged("bare/go", "go"),
        tagged("bare/rust", "rust"),
        tagged("docker/rust", "rust"),
        tagged("docker/rust", "rust"),
    ];
    let names = naming.names(&all);
    let rust = ["Rust (bare/rust)", "Rust (docker/rust)", "Rust (docker/rust)"];
    assert_eq!(names, [&["Go in Docker", "Go"][..], &rust].concat());
}

#[test]
fn a_naming_file_names_series() {
    let naming =
        Naming::parse(r#"{"machines": {"m3.large": "two cores"}, "experiments": {"ruby": "Ruby 2"}}"#)
            .unwrap();
    let rows = read(&file(&[GOOD, BACKWARDS].concat())).unwrap().rows;
    assert_eq!(names(&rows, &naming), ["docker, go on two cores", "Ruby 2 on two cores"]);
    // ppbench takes these.
    for lawful in [
        "\u{feff}{\"experiments\": {\"ruby\": \"Ruby 2\"}}",
        r#"{"machines": null, "experiments": {"ruby": "Ruby 2"}, "comment": ["of", "mine"]}"#,
    ] {
        let naming = Naming::parse(lawful).unwrap();
        assert_eq!(naming.experiments["ruby"], "Ruby 2");
        assert_eq!(Naming::parse(&naming.text()).unwrap(), naming, "no key is lost");
    }
    let long = format!("{{\n\"machines\": \"{}\"}}", "x".repeat(5_000_000));
    for (text, wanted) in [
        (r#"{"machine": {}}"#, "line 1: it names no machine and no experiment; a naming file is"),
        (&*long, "line 2, column "),
        (r#"{"machines": {"m": 1}}"#, "line 1, column 20: invalid type: integer `1`, expected a string; "),
    ] {
        let error = Naming::parse(text).unwrap_err();
        assert!(error.starts_with(wanted) && error.len() < 300, "{error}");
    }
}

#[test]
fn a_naming_file_is_made_of_tags_and_keeps_the_names_it_has() {
    let mut naming = Naming::parse(r#"{"experiments": {"ruby": "Ruby 2", "gone": "Gone"}}"#).unwrap();
    for (machine, experiment) in [(Some("m3.large"), "ruby"), (None, "go"), (Some(""), "go"), (None, "")] {
        naming.add(machine, experiment);
    }
    let text = concat!(
        "{\n  \"machines\": {\n    \"m3.large\": \"m3.large\"\n  },\n",
        "  \"experiments\": {\n    \"go\": \"go\",\n    \"gone\": \"Gone\",\n    \"ruby\": \"Ruby 2\"\n  }\n}\n",
    );
    assert_eq!(naming.text(), text);
    assert_eq!(Naming::parse(text).unwrap(), naming);
}

#[test]
fn a_measured_request_becomes_a_row_that_reads_back() {
    let row = Row::from_request(&Measured {
        machine: "here",
        experiment: "go",
        path: "/mping/2000".to_owned(),
        size: 2000,
        failed: 0,
        concurrency: 1,
        length: 2000,
        time_ns: 2_500_000,
        retries: 1,
        status: 200,
    });
    let back = read(&write([&row])).unwrap().rows;
    assert_eq!(back, [row]);
    assert_eq!(
        (back[0].time_ms(), back[0].fields[7].as_str(), back[0].fields[8].as_str()),
        (2.5, "800000", "400")
    );
}

const EARLY: &str = "Tag,Document Path,Failed requests,Concurrency Level,Total transferred,Time per request,Retries,Response Code\n";

#[test]
fn early_rows_of_eight_columns_get_what_later_versions_derive() {
    let text = format!(
        "{EARLY}\"bare\",\"/mping/1961\",\"1\",\"10\",\"0\",\"4\",\"100\",\"503\"\nbare,/mping/2000,0,1,2000,2.5,1,200\n,/mping/1,0,1,1,0,0,200\n"
    );
    let table = read(&text).unwrap();
    assert_eq!(table.layout, Layout::EarlyPpbench);
    let [failed, good, timeless] = &table.rows[..] else { panic!("three rows") };
    assert_eq!(
        (failed.machine(), failed.experiment(), failed.fault(), failed.retries()),
        ("", "bare", Some(Fault::Failed), Some(100.0))
    );
    assert_eq!(
        (good.size(), good.time_ms(), good.is_good(), good.transfer_bytes_per_s()),
        (2000, 2.5, true, 8e5)
    );
    assert_eq!((good.fields[4].as_str(), good.fields[8].as_str()), ("1", "400"));
    assert_eq!((timeless.transfer_bytes_per_s(), timeless.is_good()), (0.0, false));
    assert_eq!(names(&table.rows, &Naming::default()), ["bare", "untagged"]);
    assert_eq!(
        read(&write(&table.rows)).unwrap().rows,
        table.rows,
        "as a CSV of eleven columns it reads the same"
    );
    // A header that is neither, though it begins alike.
    let error = read("Tag,Document Path,Failed requests,Retries\n").unwrap_err().to_string();
    assert_eq!(error, "line 1, column 4: `Retries` where `Concurrency Level` is expected");
}

/// What may happen to a file on its way, and what is said of it.
#[test]
fn every_damage_is_one_error_that_names_its_line() {
    let whole = file(&[GOOD, FAILED, GOOD].concat());
    let mut damaged: Vec<(Vec<u8>, u64)> = Vec::new();
    // Cut off anywhere within its third row, but at the end of a field's digits, where nobody can tell.
    let third = whole.len() - GOOD.len();
    for cut in third + 1..whole.len() - 1 {
        damaged.push((whole.as_bytes()[..cut].to_vec(), 4));
    }
    // A word where a number is, in each column and line.
    for (line, row) in [(2_u64, 0_usize), (4, 2)] {
        for column in 2..11 {
            let mut rows =
                [GOOD, FAILED, GOOD].map(|row| row.split(',').map(str::to_owned).collect::<Vec<_>>());
            // The experiment's tag holds a comma.
            rows[row][column + 1] = format!("\"x\"{}", if column == 10 { "\n" } else { "" });
            damaged.push((file(&rows.map(|row| row.join(",")).concat()).into_bytes(), line));
        }
    }
    // No header, a second one of another layout, another file altogether.
    damaged.push(([GOOD, FAILED].concat().into_bytes(), 1));
    damaged.push((format!("{HEADER}{EARLY}{GOOD}").into_bytes(), 2));
    damaged.push((b"{\"machines\": {}}\n".to_vec(), 1));
    // Compressed, of another alphabet, or with a byte that is no text.
    damaged.push((vec![0x1f, 0x8b, 8, 0, 0], 1));
    damaged
        .push((whole.encode_utf16().fold(vec![0xff, 0xfe], |mut b, c| (b.extend(c.to_le_bytes()), b).1), 1));
    damaged.push((
        whole
            .replacen("m3.large", "m\u{1}", 3)
            .into_bytes()
            .into_iter()
            .map(|b| if b == 1 { 0xe4 } else { b })
            .collect(),
        2,
    ));
    for (bytes, line) in &damaged {
        let error = match decode(bytes) {
            Ok(text) => read(text).map(|table| table.rows.len()),
            Err(damage) => Err(damage),
        };
        let error = error.expect_err(&String::from_utf8_lossy(bytes)).to_string();
        assert!(
            error.starts_with(&format!("line {line}, ")),
            "{error}, not line {line}: {}",
            String::from_utf8_lossy(bytes)
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert!(damaged.len() > 60, "{}", damaged.len());
}

#[test]
fn what_other_programs_make_of_a_log_reads_the_same() {
    let text = file(&[GOOD, FAILED, BACKWARDS].concat());
    let rows = read(&text).unwrap().rows;
    let floats = text.replace("\"0\"", "\"0.0\"").replace("\"503\"", "\"503.0\"");
    let faults = |rows: &[Row]| rows.iter().map(Row::fault).collect::<Vec<_>>();
    assert_eq!(faults(&read(&floats).unwrap().rows), faults(&rows));
    assert_eq!(write(&read(&floats).unwrap().rows), floats, "to the letter");
    for other in
        [format!("{text}\n"), format!("{text}\r\n\n"), text.replace('\n', "\n\n"), format!("\n{text}")]
    {
        assert_eq!(read(&other).unwrap().rows, rows, "{other:?}");
    }
    // Put one behind another.
    for second in [
        text.clone(),
        format!("\u{feff}{text}"),
        format!("\n{text}"),
        text.replace('"', "").replace(", ", "-"),
    ] {
        let both = read(&format!("{text}{second}")).unwrap().rows;
        assert_eq!((both.len(), &both[..3]), (6, &rows[..]));
    }
}

#[test]
fn an_error_quotes_no_more_than_a_reader_can_use() {
    let long = "x".repeat(5_000_000);
    for (text, words) in [
        (long.clone(), "line 1, column 1: `xxxx"),
        (file(&GOOD.replace("0.953", &long)), "line 2, column `Time per request`: `xxxx"),
        (file(&GOOD.replace("0.953", "a\nb")), "line 2, column `Time per request`: `a\\nb` is not"),
        (file(&format!("x\"{long}\n")), "line 2, column 1: a stray quote or carriage return in `x\"xxx"),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.starts_with(words) && error.len() < 250 && error.lines().count() == 1, "{error:.300}");
    }
}

#[test]
fn line_ends_and_a_byte_order_mark_do_no_harm_anywhere() {
    let text = file(&[GOOD, FAILED, BACKWARDS].concat());
    let rows = read(&text).unwrap().rows;
    for other in [
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
        format!("\u{feff}{}", text.replace('\n', "\r\n")),
        text.trim_end().to_owned(),
    ] {
        let table = read(decode(other.as_bytes()).unwrap()).unwrap();
        assert_eq!(table.rows, rows);
        assert_eq!(write(&table.rows), text, "written again it is as ppbench writes it");
    }
}
