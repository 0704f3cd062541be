//! Tables as Apache Parquet, for data frames: one row group, with the columns of CSV. Text is UTF-8, counts
//! are 64-bit integers, figures are double precision, and what CSV leaves empty is null.

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use weighbridge_model::evidence::Evidence;
use weighbridge_model::summary::Summary;

use crate::columns::{self, Column, Read, TableName, TableSink};

pub(crate) fn table(
    table: TableName,
    summary: &Summary,
    evidence: Option<&Evidence>,
) -> Result<Vec<u8>, ParquetError> {
    columns::write(table, summary, evidence, Parquet)
}

struct Parquet;

impl TableSink for Parquet {
    type Output = Result<Vec<u8>, ParquetError>;

    fn write<R>(self, columns: &[Column<R>], rows: &[R]) -> Self::Output {
        let fields =
            columns.iter().map(|column| Ok(field(column)?.into())).collect::<Result<_, ParquetError>>()?;
        let schema = Type::group_type_builder("weighbridge").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_created_by("weighbridge".to_owned()).build();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), properties.into())?;
        let mut group = writer.next_row_group()?;
        for column in columns {
            let Some(mut open) = group.next_column()? else { break };
            write_column(&mut open, column, rows)?;
            open.close()?;
        }
        group.close()?;
        writer.into_inner()
    }
}

fn field<R>(column: &Column<R>) -> Result<Type, ParquetError> {
    let (physical, logical, repetition) = match column.read {
        Read::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::OPTIONAL),
        Read::Count(_) => (Physical::INT64, None, Repetition::OPTIONAL),
        Read::Number(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        Read::Flag(_) => (Physical::BOOLEAN, None, Repetition::REQUIRED),
    };
    Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}

fn write_column<R>(
    open: &mut SerializedColumnWriter<'_>,
    column: &Column<R>,
    rows: &[R],
) -> Result<(), ParquetError> {
    match column.read {
        Read::Text(read) => {
            let text = |row| read(row).map(|text| ByteArray::from(text.as_ref()));
            optional::<ByteArrayType>(open, rows.iter().map(text))
        }
        // Counts stay far below 2^63.
        Read::Count(read) => {
            let count = |row| read(row).map(|count| i64::try_from(count).unwrap_or(i64::MAX));
            optional::<Int64Type>(open, rows.iter().map(count))
        }
        Read::Number(read) => optional::<DoubleType>(open, rows.iter().map(read)),
        Read::Flag(read) => {
            let flags: Vec<bool> = rows.iter().map(read).collect();
            open.typed::<BoolType>().write_batch(&flags, None, None).map(drop)
        }
    }
}

/// Writes a column that may have nulls.
fn optional<T: DataType>(
    open: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut there, mut present) = (Vec::new(), Vec::new());
    for value in values {
        present.push(i16::from(value.is_some()));
        there.extend(value);
    }
    open.typed::<T>().write_batch(&there, Some(&present), None).map(drop)
}
