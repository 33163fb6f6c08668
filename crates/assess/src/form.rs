//! What is published in another form than it has in memory: `#[serde(with = "As::<Form>")]` gives a
//! field the JSON of a form, and its schema.

use model::units::NS_PER_SECOND;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::marker::PhantomData;

/// The published form of a `T`.
pub(crate) trait FormOf<T> {
    fn of(value: &T) -> Self;
}

impl<T, F: FormOf<T>> FormOf<Option<T>> for Option<F> {
    fn of(value: &Option<T>) -> Option<F> {
        value.as_ref().map(F::of)
    }
}

impl<T, F: FormOf<T>> FormOf<Vec<T>> for Vec<F> {
    fn of(values: &Vec<T>) -> Vec<F> {
        values.iter().map(F::of).collect()
    }
}

/// Writes a field in the form `F`.
pub(crate) struct As<F>(PhantomData<F>);

impl<F: Serialize> As<F> {
    pub(crate) fn serialize<T, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
    where
        F: FormOf<T>,
    {
        F::of(value).serialize(serializer)
    }
}

impl<F: JsonSchema> JsonSchema for As<F> {
    fn inline_schema() -> bool {
        F::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        F::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        F::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        F::json_schema(generator)
    }
}

/// Nanoseconds, published in seconds.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Seconds(f64);

impl FormOf<u64> for Seconds {
    fn of(ns: &u64) -> Seconds {
        Seconds(*ns as f64 / NS_PER_SECOND)
    }
}

impl FormOf<f64> for Seconds {
    fn of(ns: &f64) -> Seconds {
        Seconds(ns / NS_PER_SECOND)
    }
}

/// Trials with the same reason.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct ByReason<R> {
    /// The reason.
    pub(crate) reason: R,
    /// The number of trials.
    pub(crate) trials: usize,
}

impl<R: Clone> FormOf<(R, usize)> for ByReason<R> {
    fn of((reason, trials): &(R, usize)) -> ByReason<R> {
        ByReason { reason: reason.clone(), trials: *trials }
    }
}
