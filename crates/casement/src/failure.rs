//! How a verb ends when it does not end well.

use std::process::ExitCode;

use casement_diag::Problem;

use crate::output;

/// What is printed, and the exit code that goes with it.
#[derive(Debug)]
pub struct CommandError {
    exit: u8,
    /// Nothing where everything has been printed already.
    problem: Option<Problem>,
}

impl CommandError {
    /// The command was not used right.
    pub fn usage(problem: Problem) -> Self {
        Self {
            exit: 2,
            problem: Some(problem),
        }
    }

    /// Everything has been said; only the exit code is left.
    pub fn told(exit: u8) -> Self {
        Self {
            exit,
            problem: None,
        }
    }

    /// The exit code.
    pub fn exit(&self) -> u8 {
        self.exit
    }

    /// Prints what there is to print.
    pub fn finish(self) -> ExitCode {
        if let Some(problem) = &self.problem {
            output::say_problem("", problem);
        }
        ExitCode::from(self.exit)
    }
}

/// Something failed.
impl From<Problem> for CommandError {
    fn from(problem: Problem) -> Self {
        Self {
            exit: 1,
            problem: Some(problem),
        }
    }
}
