//! Allow, ask or deny: what may run without a person's yes.

use crate::event::Verdict;
use crate::glob::glob;
use crate::tool::{Approve, Tool};

/// Rules over tools. Deny wins over ask, ask over allow; without a rule the tool's declaration decides.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Name patterns (`*` matches any run of characters; `group:fs` a whole group) that run without asking.
    pub allow: Vec<String>,
    /// Name patterns that always ask.
    pub ask: Vec<String>,
    /// Name patterns that never run; such tools are not offered to the model.
    pub deny: Vec<String>,
}

/// What the policy says of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// The rule, in words.
    pub rule: String,
}

impl Policy {
    /// Rules on calls of `tool` as far as its declaration goes, before there is a call.
    pub fn rule(&self, tool: &Tool) -> Ruling {
        self.rule_as(tool, tool.spec().approve)
    }

    /// Rules on a call of which the tool says `approve`.
    pub(crate) fn rule_as(&self, tool: &Tool, approve: Approve) -> Ruling {
        let spec = tool.spec();
        let first = |patterns: &[String]| {
            patterns
                .iter()
                .find(|pattern| matches(pattern, tool))
                .cloned()
        };
        if let Some(pattern) = first(&self.deny) {
            return Ruling {
                verdict: Verdict::Deny,
                rule: format!("policy denies `{pattern}`"),
            };
        }
        if matches!(approve, Approve::Always) {
            return Ruling {
                verdict: Verdict::Ask,
                rule: "the tool asks before every call".to_owned(),
            };
        }
        if let Some(pattern) = first(&self.ask) {
            return Ruling {
                verdict: Verdict::Ask,
                rule: format!("policy asks for `{pattern}`"),
            };
        }
        if let Some(pattern) = first(&self.allow) {
            return Ruling {
                verdict: Verdict::Allow,
                rule: format!("policy allows `{pattern}`"),
            };
        }
        match approve {
            Approve::Never => Ruling {
                verdict: Verdict::Allow,
                rule: "the tool needs no approval".to_owned(),
            },
            Approve::Policy if spec.effect.is_harmless() && !spec.destructive => Ruling {
                verdict: Verdict::Allow,
                rule: format!("`{}` tools run", spec.effect.as_str()),
            },
            Approve::Ask => Ruling {
                verdict: Verdict::Ask,
                rule: "the tool asks for approval".to_owned(),
            },
            Approve::When(_) => Ruling {
                verdict: Verdict::Ask,
                rule: "the tool decides on each call whether it asks".to_owned(),
            },
            _ => Ruling {
                verdict: Verdict::Ask,
                rule: format!("tools with effect `{}` ask", spec.effect.as_str()),
            },
        }
    }

    /// Tells whether `tool` may be offered at all.
    pub fn offers(&self, tool: &Tool) -> bool {
        !self.deny.iter().any(|pattern| matches(pattern, tool))
    }
}

fn matches(pattern: &str, tool: &Tool) -> bool {
    match pattern.strip_prefix("group:") {
        Some(group) => tool.spec().group == group,
        None => glob(pattern.as_bytes(), tool.name().as_bytes()),
    }
}
