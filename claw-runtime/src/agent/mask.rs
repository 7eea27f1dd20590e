//! What the turn hears, without secrets: of what passes here nothing else is kept, sent or shown.

use crate::secret::Secrets;
use crate::session::StoreError;
use crate::turn::Input;

/// Returns the input with the secrets masked in what others said: people, models, services, tools, the store.
pub(super) fn masked(secrets: &Secrets, mut input: Input) -> Input {
    match &mut input {
        Input::Reply(reply) => {
            secrets.mask_content(&mut reply.content);
            for call in &mut reply.cut_calls {
                secrets.mask_call(call);
            }
        }
        Input::Failed(error) => {
            error.message = secrets.mask_message(&error.message);
            secrets.mask_content(&mut error.partial);
        }
        Input::Outcome {
            content, progress, ..
        } => {
            secrets.mask_content(content);
            if let Some(progress) = progress {
                secrets.mask_string(progress);
            }
        }
        Input::Posted { content, .. } | Input::Said { content, .. } => {
            secrets.mask_content(content);
        }
        Input::Lost { message } => *message = secrets.mask_message(message),
        Input::Appended
        | Input::AppendFailed { .. }
        | Input::Shown
        | Input::OverBudget { .. }
        | Input::Approval { .. }
        | Input::Parked { .. }
        | Input::NotDone { .. }
        | Input::Resume { .. }
        | Input::Settle
        | Input::Cancel
        | Input::Compact
        | Input::Fired(_) => {}
    }
    input
}

/// Returns the input that tells of a store's failure.
pub(super) fn append_failed(secrets: &Secrets, error: &StoreError) -> Input {
    Input::AppendFailed {
        message: secrets.mask_message(&error.to_string()),
    }
}
