//! Reading and checking arguments takes nothing from the heap.

use std::alloc::System;

use bench_claw::get_weather;
use claw::tool::{Prepared, ToolDef, ToolEntry};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

static ENTRY: ToolEntry = <get_weather as ToolDef>::ENTRY;

#[test]
fn a_valid_call_without_escapes_is_checked_without_an_allocation() {
    let text = r#"{"city":"Oslo","days":3,"metric":true}"#;
    let region = Region::new(HEAP);
    let checked = (ENTRY.shim)(None, text);
    let change = region.change();
    assert!(matches!(checked, Ok(Prepared::Checked)));
    assert_eq!(change.allocations + change.reallocations, 0, "{change:?}");
}
