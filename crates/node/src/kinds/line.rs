//! `line`.

use casement_resource::{Access, Code, Diff, Failure, Line, LineFacts, LineFound, Prior, Resource};

use super::directory::{create_parents, in_the_way, missing, remove_created_parents};
use super::file::read_text;
use super::{Kind, KindContext, wrong_prior};
use crate::platform::{EntryKind, Result, WriteOptions};

impl Kind for Line {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        Ok(self.diff(&facts(self, context)?))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        let missing = missing(context, self.path.parent())?;
        let (file, line) = match facts(self, context)? {
            LineFacts::NoFile => (false, None),
            LineFacts::InTheWay => return Err(in_the_way(&self.path, "a regular file")),
            LineFacts::Text(text) => match self.find(&text) {
                LineFound::NotFound => (true, None),
                LineFound::Once(line) => (true, Some(line.to_owned())),
                LineFound::Multiple(count) => return Err(ambiguous(self, count)),
            },
        };
        Ok(Prior::Line {
            missing,
            file,
            line,
        })
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        let text = match facts(self, context)? {
            LineFacts::InTheWay => return Err(in_the_way(&self.path, "a regular file")),
            LineFacts::Text(text) => text,
            LineFacts::NoFile => {
                create_parents(context.platform, &self.path)?;
                String::new()
            }
        };
        match self.find(&text) {
            LineFound::Multiple(count) => Err(ambiguous(self, count)),
            LineFound::Once(_) | LineFound::NotFound => write(self, context, &self.insert(&text)),
        }
    }

    /// Other lines stay. A file that casement created is deleted if it is empty then.
    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Line {
            missing,
            file,
            line,
        } = prior
        else {
            return Err(wrong_prior("a line", prior));
        };
        if let LineFacts::Text(now) = facts(self, context)? {
            let before = self.restore(&now, line.as_deref());
            if before.is_empty() && !file {
                context.platform.remove_file(&self.path)?;
            } else if before != now {
                write(self, context, &before)?;
            }
        }
        remove_created_parents(context, missing, &self.path)
    }
}

fn facts(line: &Line, context: &KindContext<'_>) -> Result<LineFacts> {
    match context.platform.entry(&line.path)? {
        Some(entry) if entry.kind != EntryKind::File => Ok(LineFacts::InTheWay),
        _ => {
            let text = read_text(context.platform, &line.path)?;
            Ok(text.map_or(LineFacts::NoFile, LineFacts::Text))
        }
    }
}

fn write(line: &Line, context: &KindContext<'_>, text: &str) -> Result<()> {
    let form = WriteOptions {
        access: Access::Inherited,
        executable: false,
    };
    context
        .platform
        .write(&line.path, &mut text.as_bytes(), form)
}

fn ambiguous(line: &Line, count: usize) -> Failure {
    let prefix = line.prefix.as_ref().map_or("", |prefix| prefix.as_str());
    Failure::new(
        Code::Foreign,
        format!(
            "`{}` has several lines that start with `{prefix}`",
            line.path
        ),
        "delete all but one of them, or use a longer prefix",
    )
    .values("at most 1 such line", format!("{count} such lines"))
}
