//! `swap`.

use casement_resource::{Access, Diff, Prior, Resource, SwapArea, SwapFacts, SwapOff};

use super::file::read_text;
use super::{Kind, KindContext, wrong_prior};
use crate::platform::{Result, WriteOptions};

impl Kind for SwapOff {
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff> {
        let facts = SwapFacts {
            areas: context.platform.swap_areas()?,
            table: read_text(context.platform, &context.platform.swap_table()?)?,
        };
        Ok(self.diff(&facts))
    }

    fn prior(&self, context: &KindContext<'_>) -> Result<Prior> {
        Ok(Prior::Swap(context.platform.swap_areas()?))
    }

    /// Also restores areas that were added since.
    fn extend(&self, context: &KindContext<'_>, previous: &Prior) -> Result<Prior> {
        let Prior::Swap(before) = previous else {
            return Err(wrong_prior("swap", previous));
        };
        let mut areas = before.clone();
        let known = |area: &SwapArea| before.iter().any(|known| known.path == area.path);
        let new = context.platform.swap_areas()?;
        areas.extend(new.into_iter().filter(|area| !known(area)));
        Ok(Prior::Swap(areas))
    }

    fn apply(
        &self,
        context: &KindContext<'_>,
        _prior: &Prior,
        _previous: Option<&Resource>,
    ) -> Result<()> {
        rewrite_fstab(context, SwapOff::disable_entries)?;
        for area in context.platform.swap_areas()? {
            context.platform.swap_off(&area)?;
        }
        Ok(())
    }

    /// An area whose file is gone is not restored.
    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()> {
        let Prior::Swap(areas) = prior else {
            return Err(wrong_prior("swap", prior));
        };
        rewrite_fstab(context, SwapOff::restore_entries)?;
        let now = context.platform.swap_areas()?;
        for area in areas {
            let on = now.iter().any(|on| on.path == area.path);
            if !on && context.platform.entry(&area.path)?.is_some() {
                context.platform.swap_on(area)?;
            }
        }
        Ok(())
    }
}

/// Writes fstab only if its content changes.
fn rewrite_fstab(context: &KindContext<'_>, rewrite: fn(&str) -> String) -> Result<()> {
    let path = context.platform.swap_table()?;
    let Some(before) = read_text(context.platform, &path)? else {
        return Ok(());
    };
    let after = rewrite(&before);
    if after == before {
        return Ok(());
    }
    let form = WriteOptions {
        access: Access::Inherited,
        executable: false,
    };
    context.platform.write(&path, &mut after.as_bytes(), form)
}
