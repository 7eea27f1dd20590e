//! Schemas in every dialect, and arguments to the wire and back.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use claw_runtime::dialect::DIALECTS;
use serde_json::{Value, json};

#[test]
fn smoke() {
    let schema = r##"{"type":"object","properties":{
      "city":{"type":"string","minLength":1,"maxLength":80,"pattern":"^[A-Z]","description":"City name."},
      "days":{"type":"integer","minimum":1,"maximum":10,"description":"How many.","default":3},
      "map":{"type":"object","additionalProperties":{"type":"integer"}},
      "any":{"description":"Anything."},
      "pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false,"minItems":2,"maxItems":2},
      "tree":{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/Tree"}}},"required":["name"],"additionalProperties":false},
      "place":{"anyOf":[{"type":"object","properties":{"kind":{"type":"string","const":"a"},"x":{"type":"integer"}},"required":["kind"],"additionalProperties":false},{"type":"object","properties":{"kind":{"type":"string","const":"b"},"m":{"type":"object","additionalProperties":{"type":"string"}}},"required":["kind"],"additionalProperties":false}]},
      "maybe":{"anyOf":[{"type":"string"},{"type":"null"}]},
      "level":{"enum":[1,2,3]}
    },"required":["city","maybe","tree"],"additionalProperties":false,"$defs":{"Tree":{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/Tree"}}},"required":["name"],"additionalProperties":false}}}"##;
    let args = json!({"city":"Oslo","maybe":null,"tree":{"name":"a","kids":[{"name":"b"}]},"map":{"a":1},"any":[1,{"x":null}],"place":{"kind":"b","m":{"k":"v"}},"pair":["x",1.5]}).to_string();
    for dialect in DIALECTS {
        match dialect.lower(schema) {
            Ok(lowered) => {
                println!(
                    "{}: {}",
                    dialect.name,
                    serde_json::to_string_pretty(&lowered.to_value()).unwrap()
                );
                for loss in &lowered.lost {
                    println!("   {loss}");
                }
                let wire = lowered.encode(&args);
                println!("   {wire}");
                assert_eq!(
                    serde_json::from_str::<Value>(&lowered.lift(&wire)).unwrap(),
                    serde_json::from_str::<Value>(&args).unwrap()
                );
            }
            Err(why) => println!("{}: {why}", dialect.name),
        }
    }
}
