//! A database of two tables: queries with parameters, rows with nulls, and a destructive tool.

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::shop::{Shop, failed, structured};

/// The database: its rows, by table.
pub struct Database(Mutex<Map<String, Value>>);

impl Default for Database {
    fn default() -> Self {
        let order = |id: u32, customer: u32, total: f64, shipped: Value| json!({"id": id, "customer": customer, "total": total, "shipped": shipped});
        let orders = json!([
            order(1, 1, 19.5, json!("2026-11-02")),
            order(2, 1, 250.25, Value::Null),
            order(3, 2, 0.0, Value::Null),
        ]);
        let customers = json!([
            {"id": 1, "name": "Ada", "email": "ada@example.com", "active": true},
            {"id": 2, "name": "<b>Grace</b> \"H\"", "email": null, "active": false},
        ]);
        let tables = [("customers".to_owned(), customers), ("orders".to_owned(), orders)];
        Self(Mutex::new(tables.into_iter().collect()))
    }
}

impl Shop for Database {
    fn tools(&self) -> Vec<Value> {
        let table = json!({"enum": ["customers", "orders"], "title": "Table"});
        let cell = json!({"type": ["string", "number", "boolean", "null"]});
        let condition = json!({"type": "object", "additionalProperties": cell,
            "description": "Columns, and what they must hold"});
        let read_only = json!({"readOnlyHint": true, "openWorldHint": false});
        let count = json!({"type": "object", "properties": {"count": {"type": "integer"}}});
        vec![
            json!({"name": "list_tables", "title": "Tables", "annotations": read_only,
                "inputSchema": {"type": "object", "additionalProperties": false},
                "outputSchema": {"type": "object", "properties": {"tables": {"type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"},
                        "rows": {"type": "integer"}, "comment": {"type": ["string", "null"]}}}}}}}),
            json!({"name": "query", "title": "Query", "annotations": read_only,
                "description": "Rows of a table, with `?` in `where` for each parameter.",
                "inputSchema": {"type": "object", "required": ["table"], "properties": {
                    "table": table,
                    "where": {"type": "string", "examples": ["customer = ?"]},
                    "parameters": {"type": "array", "items": cell, "maxItems": 8},
                    "limit": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 100}}},
                "outputSchema": {"type": "object", "required": ["columns", "rows"], "properties": {
                    "columns": {"type": "array", "items": {"type": "string"}},
                    "rows": {"type": "array", "items": {"type": "object", "additionalProperties": cell}},
                    "truncated": {"type": "boolean"}}}}),
            json!({"name": "insert_row", "title": "Insert a row",
                "annotations": {"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false},
                "inputSchema": {"type": "object", "required": ["table", "row"], "properties": {
                    "table": table, "row": {"type": "object", "additionalProperties": cell}}},
                "outputSchema": count}),
            json!({"name": "delete_rows", "title": "Delete rows",
                "annotations": {"readOnlyHint": false, "destructiveHint": true},
                "inputSchema": {"type": "object", "required": ["table", "where"], "properties": {
                    "table": table, "where": condition}},
                "outputSchema": count}),
        ]
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        let mut tables = self.0.lock();
        if tool == "list_tables" {
            let table = |(name, rows): (&String, &Value)| json!({"name": name, "rows": rows.as_array().map(Vec::len), "comment": null});
            let tables: Vec<_> = tables.iter().map(table).collect();
            return Some(structured(json!({"tables": tables})));
        }
        let name = arguments["table"].as_str().unwrap_or_default();
        let rows = tables.get_mut(name).and_then(Value::as_array_mut);
        Some(match (tool, rows) {
            ("query" | "insert_row" | "delete_rows", None) => {
                failed(&format!("no such table: {name}"))
            }
            ("query", Some(rows)) => query(rows, arguments),
            ("insert_row", Some(rows)) => {
                rows.push(arguments["row"].clone());
                structured(json!({"count": 1}))
            }
            ("delete_rows", Some(rows)) => {
                let (before, wanted) = (rows.len(), arguments["where"].as_object());
                rows.retain(|row| {
                    !wanted.is_some_and(|all| all.iter().all(|(name, value)| row[name] == *value))
                });
                structured(json!({"count": before - rows.len()}))
            }
            _ => return None,
        })
    }
}

/// Answers a query. The only supported condition is `column = ?`.
fn query(rows: &[Value], arguments: &Value) -> Value {
    let condition = arguments["where"].as_str().unwrap_or_default();
    let column = condition.strip_suffix("= ?").map(str::trim);
    if column.is_none() && !condition.is_empty() {
        return failed(&format!("near \"{condition}\": syntax error"));
    }
    let wanted = &arguments["parameters"][0];
    let found = rows.iter().filter(|row| column.is_none_or(|column| row[column] == *wanted));
    let limit = usize::try_from(arguments["limit"].as_u64().unwrap_or(100)).unwrap_or(100);
    let mut found: Vec<_> = found.take(limit.saturating_add(1)).cloned().collect();
    let truncated = found.len() > limit;
    found.truncate(limit);
    let columns: Vec<_> = rows
        .first()
        .and_then(Value::as_object)
        .map(|row| row.keys().cloned().collect())
        .unwrap_or_default();
    structured(json!({"columns": columns, "rows": found, "truncated": truncated}))
}
