//! How a verb fails: the exit code, and the problem to print.

use std::process::ExitCode;

use casement_diag::Problem;

use crate::output;

#[derive(Debug)]
pub struct CommandError {
    exit_code: u8,
    /// None if everything has been printed already.
    problem: Option<Problem>,
}

impl CommandError {
    /// Invalid arguments or input.
    pub fn usage(problem: Problem) -> Self {
        Self {
            exit_code: 2,
            problem: Some(problem),
        }
    }

    /// Everything has been printed; only the exit code is left.
    pub fn reported(exit_code: u8) -> Self {
        Self {
            exit_code,
            problem: None,
        }
    }

    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// What is still to be printed.
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// Prints the problem now.
    pub fn report(self) -> Self {
        if let Some(problem) = &self.problem {
            output::report("", problem);
        }
        Self::reported(self.exit_code)
    }

    pub fn finish(self) -> ExitCode {
        if let Some(problem) = &self.problem {
            output::report("", problem);
        }
        ExitCode::from(self.exit_code)
    }
}

impl From<Problem> for CommandError {
    fn from(problem: Problem) -> Self {
        Self {
            exit_code: 1,
            problem: Some(problem),
        }
    }
}
