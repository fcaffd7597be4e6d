//! A weather service: units, dates, forecasts that can be shown as a chart, and a radar with a view of its own.

use serde_json::{Value, json};

use crate::shop::{Shop, failed, structured};

const CONDITIONS: [&str; 4] = ["clear", "clouds", "rain", "snow"];
const RADAR: &str = "ui://weather/radar.html";

/// The page of the radar's view. The page calls a tool by the name that this server gives the tool.
const PAGE: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Radar</title></head><body>\
<main id=\"radar\">Köln “<b>&amp;</b>” {{data}}</main>\n<script>\nlet id = 0;\nconst send = (method, params) =>\n  parent.postMessage({ jsonrpc: \"2.0\", id: ++id, method, params }, \"*\");\n\
send(\"tools/call\", { name: \"get_current_weather\", arguments: { city: \"Köln\" } });\n</script></body></html>\n";

/// The weather service. The same arguments always have the same result.
pub struct Weather;

impl Shop for Weather {
    fn tools(&self) -> Vec<Value> {
        let city =
            json!({"type": "string", "title": "City", "minLength": 1, "examples": ["Berlin"]});
        let units =
            json!({"enum": ["metric", "imperial"], "default": "metric", "description": "°C or °F"});
        let condition = json!({"enum": CONDITIONS});
        let read_only = json!({"readOnlyHint": true, "openWorldHint": true});
        let number = json!({"type": "number"});
        let day = json!({"type": "object", "required": ["date", "high", "low"], "properties": {
            "date": {"type": "string", "format": "date"}, "high": number, "low": number,
            "precipitation": {"type": ["number", "null"]}, "condition": condition,
        }});
        let alert = json!({"type": "object", "properties": {
            "severity": {"$ref": "#/$defs/severity"}, "until": {"type": "string", "format": "date-time"},
        }});
        let severity = json!({"oneOf": [
            {"const": 1, "title": "Watch"}, {"const": 2, "title": "Warning"}, {"const": 3, "title": "Emergency"},
        ]});
        vec![
            json!({"name": "get_current_weather", "title": "Current weather", "annotations": read_only,
                "description": "The weather now.",
                "inputSchema": {"type": "object", "required": ["city"], "additionalProperties": false,
                    "properties": {"city": city, "units": units}},
                "outputSchema": {"type": "object", "required": ["city", "temperature"], "properties": {
                    "city": {"type": "string"}, "temperature": number, "humidity": {"type": "integer"},
                    "condition": condition, "observed": {"type": "string", "format": "date-time"}}}}),
            json!({"name": "get_forecast", "title": "Forecast", "annotations": read_only,
                "inputSchema": {"type": "object", "required": ["city"], "properties": {
                    "city": city, "units": units, "from": {"type": "string", "format": "date"},
                    "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 5}}},
                "outputSchema": {"type": "object", "required": ["days"], "properties": {
                    "city": {"type": "string"}, "days": {"type": "array", "items": day}}}}),
            json!({"name": "compare_cities", "annotations": read_only,
                "inputSchema": {"type": "object", "required": ["cities"], "properties": {
                    "cities": {"type": "array", "items": city, "minItems": 2, "maxItems": 5, "uniqueItems": true}}},
                "outputSchema": {"type": "object", "properties": {"cities": {"type": "array",
                    "items": {"type": "object", "properties": {
                        "city": {"type": "string"}, "temperature": number}}}}}}),
            json!({"name": "get_alerts", "annotations": read_only, "description": "Without an output schema.",
                "inputSchema": {"type": "object", "$defs": {"severity": severity, "alert": alert}, "properties": {
                    "atLeast": {"$ref": "#/$defs/severity", "default": 1},
                    "like": {"anyOf": [{"$ref": "#/$defs/alert"}, {"type": "null"}]}}}}),
            json!({"name": "show_radar", "title": "Radar", "annotations": read_only,
                "_meta": {"ui": {"resourceUri": RADAR, "visibility": ["model", "app"]},
                    "ui/resourceUri": RADAR, "weather/odd": [null, 1.5]},
                "inputSchema": {"type": "object", "properties": {"region": {"type": "string"}}}}),
        ]
    }

    fn call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        let city = arguments["city"].as_str().unwrap_or_default();
        let imperial = arguments["units"] == "imperial";
        Some(match tool {
            // `validateToolInput` of `server/mcp.ts` of the TypeScript SDK.
            "get_current_weather" if !arguments["city"].is_string() => failed(
                "MCP error -32602: Input validation error: Invalid arguments for tool get_current_weather: \
                 expected string at city",
            ),
            "get_current_weather" if city == "Atlantis" => failed("there is no city \"Atlantis\""),
            "get_current_weather" => structured(json!({
                "city": city, "temperature": temperature(city, 0, imperial),
                "humidity": 40 + seed(city) % 50, "condition": condition(city, 0),
                "observed": "2026-11-22T12:00:00Z",
            })),
            "get_forecast" => {
                let from = arguments["from"].as_str().unwrap_or("2026-11-22");
                let days = arguments["days"].as_u64().unwrap_or(5).min(14);
                let days = (0..days).map(|n| day(city, from, n, imperial));
                structured(json!({"city": city, "days": days.collect::<Vec<_>>()}))
            }
            "compare_cities" => {
                let cities = arguments["cities"].as_array().into_iter().flatten();
                let cities = cities.filter_map(Value::as_str);
                let of = |city| json!({"city": city, "temperature": temperature(city, 0, false)});
                structured(json!({"cities": cities.map(of).collect::<Vec<_>>()}))
            }
            "get_alerts" => {
                json!({"content": [{"type": "text", "text": "No alerts.", "x-odd": {"kept": [1]}}]})
            }
            "show_radar" => json!({"content": [
                {"type": "text", "text": "Rain from the west."},
                {"type": "image", "mimeType": "image/gif", "data": "R0lGODlhAQABAAAAACwAAAAAAQABAAA="},
                {"type": "resource_link", "uri": RADAR, "name": "radar"},
            ]}),
            _ => return None,
        })
    }

    fn resources(&self) -> Vec<Value> {
        vec![json!({"uri": RADAR, "name": "radar", "mimeType": "text/html;profile=mcp-app",
            "_meta": self.meta()})]
    }

    fn read(&self, uri: &str) -> Option<Value> {
        (uri == RADAR).then(|| {
            json!({"uri": RADAR, "mimeType": "text/html;profile=mcp-app", "text": PAGE,
                "_meta": self.meta()})
        })
    }
}

impl Weather {
    fn meta(&self) -> Value {
        json!({"ui": {"csp": {"connectDomains": ["https://tiles.example"],
            "resourceDomains": ["https://tiles.example"]}, "permissions": {"geolocation": {}},
            "prefersBorder": false}})
    }
}

fn seed(city: &str) -> u64 {
    city.bytes().fold(7, |sum, byte| (sum * 31 + u64::from(byte)) % 10_007)
}

fn temperature(city: &str, day: u64, imperial: bool) -> f64 {
    let celsius = ((seed(city) + 37 * day) % 300) as f64 / 10.0;
    if imperial { celsius * 9.0 / 5.0 + 32.0 } else { celsius }
}

fn condition(city: &str, day: u64) -> &'static str {
    CONDITIONS[((seed(city) + day) % 4) as usize]
}

/// One day of a forecast. Days count from 1 to 28 within one month, which is enough for tests.
fn day(city: &str, from: &str, n: u64, imperial: bool) -> Value {
    let (month, first) = from.rsplit_once('-').unwrap_or(("2026-11", "1"));
    let date = format!("{month}-{:02}", (first.parse::<u64>().unwrap_or(1) + n - 1) % 28 + 1);
    let rain = (n % 3 != 1).then_some((seed(city) + n) % 12);
    json!({"date": date, "high": temperature(city, n, imperial), "low": temperature(city, n, imperial) - 6.5,
        "precipitation": rain, "condition": condition(city, n)})
}
