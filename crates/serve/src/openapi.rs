//! `/openapi.json`, made from the list of routes.

use crate::app::App;
use crate::routes::{Operation, operations};
use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub async fn answer(State(app): State<Arc<App>>) -> Json<Value> {
    Json(document(app.version, &operations()))
}

fn document(version: &str, operations: &[Operation]) -> Value {
    let mut paths = Map::new();
    for (method, path, what) in operations {
        let path = path.replace("{*file}", "{file}");
        let item = paths.entry(path.clone()).or_insert_with(|| json!({}));
        item[*method] = operation(&path, what);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "ralph serve", "version": version},
        "security": [{"bearer": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "ralph-PORT"},
            },
            "schemas": {
                "Problem": {
                    "type": "object",
                    "required": ["type", "title", "status"],
                    "properties": {
                        "type": {"type": "string"}, "title": {"type": "string"},
                        "status": {"type": "integer"}, "detail": {"type": "string"},
                    },
                },
            },
        },
    })
}

fn operation(path: &str, what: &str) -> Value {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
    let words = what.split_once('?').map_or("", |(_, query)| query);
    let words = words.split([' ', ';', ',']).next().unwrap_or_default();
    let in_query = words.split('&').map(|word| word.split('=').next().unwrap_or_default());
    let in_query = in_query.filter(|word| !word.is_empty() && word.chars().all(char::is_alphanumeric));
    let in_query = in_query.map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}));
    let problem = json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}});
    json!({
        "summary": what,
        "parameters": in_path.chain(in_query).collect::<Vec<Value>>(),
        "responses": {
            "200": {"description": "Done"},
            "default": {"description": "Refused", "content": problem},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_described_with_its_parameters() {
        let document = document("1", &operations());
        let events = &document["paths"]["/v1/runs/{id}/events"]["get"];
        let names: Vec<&str> =
            events["parameters"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["id", "after"]);
        let logs = &document["paths"]["/v1/processes/{id}/logs"]["get"]["parameters"];
        assert_eq!(logs.as_array().unwrap().len(), 5);
        for (method, path, _) in operations() {
            assert!(document["paths"][path.replace("{*file}", "{file}")][method].is_object(), "{method} {path}");
        }
    }
}
