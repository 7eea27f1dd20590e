//! The current time: `now`.

use claw::tool;
use claw::tool::ToolError;
use jiff::Zoned;
use jiff::tz::TimeZone;

/// The current date and time, with weekday and offset from UTC.
#[tool(effect = read, group = "time")]
pub fn now(
    /// An IANA time zone, for example `Europe/Berlin` or `UTC`; without it, the zone of this computer.
    zone: Option<&str>,
) -> Result<String, ToolError> {
    show(&Zoned::now(), zone)
}

fn show(now: &Zoned, zone: Option<&str>) -> Result<String, ToolError> {
    let zone = match zone {
        None => now.time_zone().clone(),
        Some("UTC" | "utc" | "Z") => TimeZone::UTC,
        Some(name) => TimeZone::get(name).map_err(|_| {
            ToolError::new(format!(
                "`{name}` is not a time zone known here; give an IANA name, for example `Europe/Berlin`, or `UTC`"
            ))
        })?,
    };
    let now = now.with_time_zone(zone);
    let name = now.time_zone().iana_name().unwrap_or("local");
    Ok(format!(
        "{} ({name})",
        now.strftime("%A, %Y-%m-%d %H:%M:%S %:z")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(zone: Option<&str>) -> Result<String, ToolError> {
        let moment: jiff::Timestamp = "2026-02-28T23:30:05Z".parse().unwrap();
        show(&moment.to_zoned(TimeZone::UTC), zone)
    }

    #[test]
    fn a_zone_moves_date_weekday_and_offset() {
        assert_eq!(
            at(Some("UTC")).unwrap(),
            "Saturday, 2026-02-28 23:30:05 +00:00 (UTC)"
        );
        assert_eq!(
            at(Some("Asia/Shanghai")).unwrap(),
            "Sunday, 2026-03-01 07:30:05 +08:00 (Asia/Shanghai)"
        );
        assert_eq!(
            at(None).unwrap(),
            "Saturday, 2026-02-28 23:30:05 +00:00 (UTC)"
        );
    }

    #[test]
    fn a_bad_zone_is_answered_with_a_right_one() {
        for bad in ["Mars", "", "../../etc/passwd", "+25:00"] {
            let err = at(Some(bad)).unwrap_err().to_string();
            assert!(err.contains("`Europe/Berlin`"), "{err}");
        }
    }
}
