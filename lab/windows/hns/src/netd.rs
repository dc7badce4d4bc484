//! The way to the host's `netd`.

use std::io;
use std::sync::OnceLock;

use lab_wire::{Answer, Call, DOOR_FILE, Door, Failure};
use serde_json::Value;

/// Names another file than [`DOOR_FILE`], for tests.
const DOOR_VARIABLE: &str = "CASEMENT_LAB_DOOR";
/// The RPC failure that callers see while the HNS service is down.
const SERVICE_DOWN: u32 = 0x8007_06B5;

/// Why there is no answer.
#[derive(Debug)]
pub enum Refusal {
    /// `netd` cannot be reached.
    Down(Failure),
    /// `netd` said no.
    Refused(Failure),
}

/// Asks `netd`; the answer is a document, an id, or empty.
pub fn ask(call: Call) -> Result<String, Refusal> {
    lab_witness::called();
    let answer = door().and_then(|door| door.call(call));
    match answer {
        Ok(Answer::Ok(Value::String(text))) => Ok(text),
        Ok(Answer::Ok(Value::Null)) => Ok(String::new()),
        Ok(Answer::Ok(document)) => Ok(document.to_string()),
        Ok(Answer::Err(failure)) => Err(Refusal::Refused(failure)),
        Err(_) => Err(Refusal::Down(Failure {
            code: SERVICE_DOWN,
            text: "The interface is unknown.".to_owned(),
        })),
    }
}

/// Reads the door once it is there, and then never again.
fn door() -> io::Result<&'static Door> {
    static DOOR: OnceLock<Door> = OnceLock::new();
    if let Some(door) = DOOR.get() {
        return Ok(door);
    }
    let path = std::env::var(DOOR_VARIABLE).unwrap_or_else(|_| DOOR_FILE.to_owned());
    let door = serde_json::from_slice(&std::fs::read(path)?)?;
    Ok(DOOR.get_or_init(|| door))
}
