//! The provider end to end, on a real model where `CLAW_TEST_GGUF` names one.

use super::*;

#[test]
fn a_model_is_a_name_with_weights_or_a_path() {
    let local = Local::new("local", Settings::default()).weights("small", "/models/small.gguf");
    let path = |model: &str| local.path(model);
    assert_eq!(path("small"), Some(PathBuf::from("/models/small.gguf")));
    assert_eq!(path("other.gguf"), Some(PathBuf::from("other.gguf")));
    assert_eq!(path("./dir/other"), Some(PathBuf::from("./dir/other")));
    assert_eq!(path("other"), None);
}
