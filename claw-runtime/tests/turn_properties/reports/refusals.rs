//! Services that refuse tools, schemas or requests, or fail: what is asked again, in which form and of whom.

use super::*;

#[test]
fn a_model_without_tools_is_asked_in_prose_and_that_is_kept() {
    let mut world = World::new([fails(FailureClass::ToolsUnsupported), says("Hello.")]);
    world.limits.attempts = 1;
    let ran = start(&world);
    assert_eq!(ran.outcome.text, "Hello.");
    let protocols: Vec<_> = ran
        .requests
        .iter()
        .map(|(target, ..)| target.protocol)
        .collect();
    assert_eq!(protocols, [Protocol::Native, Protocol::Prompt]);
    assert!(
        ran.view
            .has_learnt("provider0", "model", &Fact::NoNativeTools)
    );
}

#[test]
fn a_refused_schema_goes_in_the_laxer_dialect_and_that_is_kept() {
    let dialects = |ran: &Ran| -> Vec<String> {
        let targets = ran.requests.iter().map(|(target, ..)| target);
        targets
            .map(|it| format!("{} {}", it.provider, it.dialect))
            .collect()
    };
    let refused = Fact::SchemaRefused {
        dialect: "openai-strict".to_owned(),
    };
    let mut world = World::new([fails(FailureClass::SchemaRefused), says("Hello.")]);
    world.limits.attempts = 1;
    let ran = start(&world);
    assert_eq!(ran.outcome.text, "Hello.");
    assert_eq!(
        dialects(&ran),
        ["provider0 openai-strict", "provider0 openai"]
    );
    assert!(ran.view.has_learnt("provider0", "model", &refused));
    assert!(!ran.view.has_learnt("provider1", "model", &refused));

    // The next model has a dialect of its own.
    let mut world = World::new([
        fails(FailureClass::SchemaRefused),
        fails(FailureClass::SchemaRefused),
        says("Hello."),
    ]);
    world.targets = 2;
    let ran = start(&world);
    assert_eq!(ran.outcome.text, "Hello.");
    assert_eq!(
        dialects(&ran),
        [
            "provider0 openai-strict",
            "provider0 openai",
            "provider1 openai-strict"
        ]
    );
    assert!(ran.waits.is_empty());

    let ran = start(&World::new([fails(FailureClass::SchemaRefused)]));
    assert_eq!(
        (failure(&ran), ran.requests.len()),
        (FailureClass::SchemaRefused, 2)
    );
}

#[test]
fn a_wrap_up_that_is_refused_for_its_form_is_asked_in_another() {
    for (class, protocol, dialect) in [
        (FailureClass::SchemaRefused, Protocol::Native, "openai"),
        (
            FailureClass::ToolsUnsupported,
            Protocol::Prompt,
            "openai-strict",
        ),
    ] {
        let mut world = World::new([calls(&[("look", "{}")]), fails(class), says("So far.")]);
        world.limits.rounds = 1;
        let ran = start(&world);
        assert_eq!(ran.outcome.text, "So far.");
        assert!(matches!(ran.outcome.reason, EndReason::Limit { .. }));
        let (last, ..) = ran.requests.last().unwrap();
        assert_eq!((last.protocol, &*last.dialect), (protocol, dialect));
    }
}

#[test]
fn a_model_that_spoke_is_not_asked_the_same_in_another_form() {
    for class in [FailureClass::ToolsUnsupported, FailureClass::SchemaRefused] {
        let broken = Act::Fail {
            error: ProviderError {
                partial: vec![ContentBlock::text("The answer ")],
                ..ProviderError::new(class, "no")
            },
            shown: true,
        };
        let ran = start(&World::new([broken, says("is 42.")]));
        assert_eq!((failure(&ran), ran.requests.len()), (class, 1));
    }
}

// Retry and the chain of models.

#[test]
fn a_busy_service_is_asked_four_times_after_1_2_4_seconds() {
    let ran = start(&World::new([fails(FailureClass::Overloaded)]));
    assert_eq!(
        (failure(&ran), ran.requests.len()),
        (FailureClass::Overloaded, 4)
    );
    let seconds: Vec<_> = ran
        .waits
        .iter()
        .map(|wait| wait.as_secs_f64().round() as u64)
        .collect();
    assert_eq!(seconds, [1, 2, 4]);
    assert!(ran.outcome.text.contains("service unavailable"));
}

#[test]
fn a_long_retry_after_goes_to_the_next_model_a_short_one_is_waited_for() {
    let limited = |wait| Act::Fail {
        error: ProviderError {
            retry_after: Some(Duration::from_secs(wait)),
            ..ProviderError::new(FailureClass::RateLimit, "slow down")
        },
        shown: false,
    };
    let mut world = World::new([limited(5), limited(3_600), says("Other model.")]);
    world.targets = 2;
    let ran = start(&world);
    assert_eq!(ran.outcome.text, "Other model.");
    assert_eq!(ran.waits, [Duration::from_secs(5)]);
    assert_eq!(ran.requests[2].0.provider, "provider1");
}

#[test]
fn a_refused_request_fails_at_once_and_does_not_wander_through_the_chain() {
    for (class, requests) in [
        (FailureClass::BadRequest, 1),
        (FailureClass::ContextLength, 1),
        (FailureClass::Filtered, 1),
        (FailureClass::Auth, 2),
        (FailureClass::Quota, 2),
        (FailureClass::NotFound, 2),
    ] {
        let mut world = World::new([fails(class)]);
        world.targets = 2;
        let ran = start(&world);
        assert_eq!((failure(&ran), ran.requests.len()), (class, requests));
        assert!(ran.waits.is_empty());
    }
}

#[test]
fn what_was_shown_is_kept_and_goes_on_once() {
    let ran = start(&World::new([breaks("The answer "), says("is 42.")]));
    assert_eq!(ran.outcome.text, "The answer is 42.");
    assert_eq!(ran.waits, []);
    assert_eq!(
        roles(&ran),
        [Role::User, Role::Assistant, Role::User, Role::Assistant]
    );
    // What was sent for the continuation is what stays in the conversation.
    assert_eq!(ran.requests[1].2, ran.view.messages()[..3]);

    let ran = start(&World::new([breaks("Again ")]));
    assert_eq!(
        (failure(&ran), ran.requests.len()),
        (FailureClass::IncompleteStream, 2)
    );
    assert!(ran.outcome.text.starts_with("Again Again \n\nI stopped"));
}
