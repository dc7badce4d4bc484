//! `swap`.

use casement_resource::{Access, Diff, Prior, Resource, SwapArea, SwapFacts, SwapOff};

use super::file::read_text;
use super::{Kind, Place, wrong_prior};
use crate::platform::{Form, Result};

impl Kind for SwapOff {
    fn look(&self, at: &Place<'_>) -> Result<Diff> {
        let facts = SwapFacts {
            areas: at.platform.swap_areas()?,
            table: read_text(at.platform, &at.platform.swap_table()?)?,
        };
        Ok(self.diff(&facts))
    }

    fn prior(&self, at: &Place<'_>) -> Result<Prior> {
        Ok(Prior::Swap(at.platform.swap_areas()?))
    }

    /// An area that has come since is one more to put back.
    fn extend(&self, at: &Place<'_>, earlier: &Prior) -> Result<Prior> {
        let Prior::Swap(before) = earlier else {
            return Err(wrong_prior("swap", earlier));
        };
        let mut areas = before.clone();
        let known = |area: &SwapArea| before.iter().any(|known| known.path == area.path);
        let new = at.platform.swap_areas()?;
        areas.extend(new.into_iter().filter(|area| !known(area)));
        Ok(Prior::Swap(areas))
    }

    fn change(&self, at: &Place<'_>, _prior: &Prior, _earlier: Option<&Resource>) -> Result<()> {
        turn_table(at, SwapOff::taken_out)?;
        for area in at.platform.swap_areas()? {
            at.platform.swap_off(&area)?;
        }
        Ok(())
    }

    /// An area whose file is gone was given up by its owner.
    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()> {
        let Prior::Swap(areas) = prior else {
            return Err(wrong_prior("swap", prior));
        };
        turn_table(at, SwapOff::put_back)?;
        let now = at.platform.swap_areas()?;
        for area in areas {
            let on = now.iter().any(|on| on.path == area.path);
            if !on && at.platform.entry(&area.path)?.is_some() {
                at.platform.swap_on(area)?;
            }
        }
        Ok(())
    }
}

/// Writes fstab anew if that makes a difference.
fn turn_table(at: &Place<'_>, turned: fn(&str) -> String) -> Result<()> {
    let path = at.platform.swap_table()?;
    let Some(before) = read_text(at.platform, &path)? else {
        return Ok(());
    };
    let after = turned(&before);
    if after == before {
        return Ok(());
    }
    let form = Form {
        access: Access::Inherited,
        executable: false,
    };
    at.platform.write(&path, &mut after.as_bytes(), form)
}
