//! docs/fields.md: every field of the JSON, from its schema.

use crate::document::{self, Purpose};
use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// The page.
const PAGE: &str = "docs/fields.md";

/// What precedes the tables.
const HEAD: &str = "# Fields of the JSON

Every field that `--json` of `run`, `survey` and `report` prints, from the schema that
`ioassay schema` prints. [Formats](formats.md#json) says what is common to all of them. A field is
null, empty or absent if its value is unknown. `cargo xtask show` writes this page.
";

/// Makes the page.
pub(crate) fn put(purpose: Purpose) -> Result<()> {
    document::put(PAGE, &page()?, purpose)
}

/// The page: the whole, then each kind of object by name.
fn page() -> Result<String> {
    let schema: Value = serde_json::from_str(&report::json_schema()).context("the schema")?;
    let mut page = HEAD.to_string();
    page.push_str(&section("The whole", &schema));
    let kinds = schema["$defs"].as_object().context("the schema defines nothing")?;
    for (name, kind) in kinds {
        page.push_str(&section(name, kind));
    }
    Ok(page)
}

/// A heading, a description, and a row for each field; nothing for a kind without fields.
fn section(name: &str, kind: &Value) -> String {
    let fields = fields(kind);
    if fields.is_empty() {
        return String::new();
    }
    let described = described(kind);
    let rows = fields.into_iter().map(|(field, value)| {
        format!("| `{field}` | {} | {} |", kind_of(value), self::described(value))
    });
    let rows = document::table("| field | kind | meaning |", rows);
    format!("\n## {name}\n\n{described}\n\n{rows}")
}

/// Its own fields, and those of each of its forms.
fn fields(kind: &Value) -> Vec<(&String, &Value)> {
    let own = kind["properties"].as_object().into_iter().flat_map(Map::iter);
    let forms = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|list| kind[list].as_array());
    let of_forms = forms.flatten().flat_map(fields);
    own.chain(of_forms).collect()
}

/// The description in a line of a table.
fn described(value: &Value) -> String {
    let text = value["description"].as_str().unwrap_or_default();
    document::cell(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// `number`, `text or null`, `list of [Case](#case)`.
fn kind_of(value: &Value) -> String {
    if let Some(path) = value["$ref"].as_str() {
        let name = path.rsplit('/').next().unwrap_or(path);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(forms) = ["anyOf", "oneOf"].iter().find_map(|list| value[*list].as_array()) {
        let mut kinds: Vec<String> = forms.iter().map(kind_of).collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    let named = |kind: &str| match kind {
        "array" if value["items"].is_object() => format!("list of {}", kind_of(&value["items"])),
        "array" => "list".to_string(),
        "string" => "text".to_string(),
        "boolean" => "true or false".to_string(),
        other => other.to_string(),
    };
    match &value["type"] {
        Value::String(kind) => named(kind),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).map(named).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_documented() {
        let page = page().expect("the schema is whole");
        let kept = document::read(PAGE).expect("it is there");
        assert!(kept == page, "{PAGE} is not that of the schema: cargo xtask show");
    }

    #[test]
    fn a_field_has_a_kind_and_a_meaning() {
        let schema = serde_json::json!({
            "description": "A\nthing.",
            "properties": {
                "one": { "type": ["number", "null"], "description": "This|that." },
                "two": { "type": "array", "items": { "$ref": "#/$defs/Case" } },
            },
        });
        let expected = "\n## Thing\n\nA thing.\n\n| field | kind | meaning |\n|---|---|---|\n\
                        | `one` | number or null | This\\|that. |\n\
                        | `two` | list of [Case](#case) |  |\n";
        assert_eq!(section("Thing", &schema), expected);
    }
}
