//! `line`.

use casement_resource::{Access, Code, Diff, Failure, Line, LineFacts, LineFound, Prior, Resource};

use super::directory::{in_the_way, make_parents, missing, remove_made_parents};
use super::file::read_text;
use super::{Kind, Place, wrong_prior};
use crate::platform::{EntryKind, Form, Result};

impl Kind for Line {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        Ok(self.diff(&observe(self, at)?))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        let missing = missing(at, self.path.parent())?;
        let (file, line) = match observe(self, at)? {
            LineFacts::NoFile => (false, None),
            LineFacts::InTheWay => return Err(in_the_way(&self.path, "a plain file")),
            LineFacts::Text(text) => match self.find(&text) {
                LineFound::Nowhere => (true, None),
                LineFound::Once(line) => (true, Some(line.to_owned())),
                LineFound::Often(count) => return Err(ambiguous(self, count)),
            },
        };
        Ok(Prior::Line {
            missing,
            file,
            line,
        })
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        let text = match observe(self, at)? {
            LineFacts::InTheWay => return Err(in_the_way(&self.path, "a plain file")),
            LineFacts::Text(text) => text,
            LineFacts::NoFile => {
                make_parents(at.platform, &self.path)?;
                String::new()
            }
        };
        match self.find(&text) {
            LineFound::Often(count) => Err(ambiguous(self, count)),
            LineFound::Once(_) | LineFound::Nowhere => write(self, at, &self.put(&text)),
        }
    }

    /// The other lines stay, whoever wrote them; a file that casement made goes
    /// if there are none.
    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Line {
            missing,
            file,
            line,
        } = prior
        else {
            return Err(wrong_prior("a line", prior));
        };
        if let LineFacts::Text(now) = observe(self, at)? {
            let before = self.taken_back(&now, line.as_deref());
            if before.is_empty() && !file {
                at.platform.remove_file(&self.path)?;
            } else if before != now {
                write(self, at, &before)?;
            }
        }
        remove_made_parents(at, missing, &self.path)
    }
}

fn observe(line: &Line, at: &Place<'_>) -> Result<LineFacts> {
    match at.platform.entry(&line.path)? {
        Some(entry) if entry.kind != EntryKind::File => Ok(LineFacts::InTheWay),
        _ => {
            let text = read_text(at.platform, &line.path)?;
            Ok(text.map_or(LineFacts::NoFile, LineFacts::Text))
        }
    }
}

fn write(line: &Line, at: &Place<'_>, text: &str) -> Result<()> {
    let form = Form {
        access: Access::Inherited,
        executable: false,
    };
    at.platform.write(&line.path, &mut text.as_bytes(), form)
}

fn ambiguous(line: &Line, count: usize) -> Failure {
    let prefix = line.prefix.as_ref().map_or("", |prefix| prefix.as_str());
    Failure::new(
        Code::Foreign,
        format!(
            "`{}` has several lines that begin with `{prefix}`",
            line.path
        ),
        "leave one of them, or give a longer prefix",
    )
    .values("one such line, or none", format!("{count} such lines"))
}
