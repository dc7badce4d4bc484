//! Updates that Windows should have.

use casement_catalog::{KNOWN_BAD, UPDATE_FLOORS};
use casement_resource::{Artifact, ArtifactFormat, Resource, UpdateFloor, WindowsUpdate};
use casement_spec::WindowsUpdate as Wanted;

use crate::facts::Inputs;
use crate::kubelet::Kubelet;
use crate::steps::{PlanError, Steps, path};

/// The installer unpacks hundreds of megabytes.
const LONGEST_SECONDS: u32 = 3600;

/// The revisions from which on builds contain the update of an article, as far
/// as the catalog knows.
pub(crate) fn floors(article: &str) -> Vec<UpdateFloor> {
    let floors = UPDATE_FLOORS.iter().filter(|floor| floor.update == article);
    let floors = floors.map(|floor| (floor.build, floor.revision));
    let mends = KNOWN_BAD.iter().filter(|fault| fault.mended_by == article);
    let mends = mends.map(|fault| (fault.build, fault.until));
    let mut known: Vec<(u32, u32)> = floors.chain(mends).collect();
    known.sort_unstable();
    known.dedup_by_key(|(build, _)| *build);
    known
        .into_iter()
        .map(|(build, revision)| UpdateFloor { build, revision })
        .collect()
}

/// The steps; gives the id and the article of each.
pub(super) fn updates(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    inputs: &Inputs,
) -> Result<Vec<(String, String)>, PlanError> {
    let mut made = Vec::new();
    for wanted in &kubelet.cluster.spec.windows.updates {
        let (article, package) = match wanted {
            Wanted::Kb(_) => (wanted.to_string(), None),
            Wanted::Package(file) => (article(file.as_str()), Some(file.as_str())),
        };
        let id = format!("update-{}", article.to_ascii_lowercase());
        let package = match package {
            None => None,
            Some(file) => match bring(steps, kubelet, inputs, &id, file)? {
                None => continue,
                Some(place) => Some(place),
            },
        };
        let after = package.as_ref().map(|_| format!("bin-{id}"));
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        let update = WindowsUpdate {
            floors: floors(&article),
            article: article.clone(),
            package: package.map(|place| path(&place)).transpose()?,
            timeout_seconds: LONGEST_SECONDS,
        };
        steps.add(&id, &after, Resource::WindowsUpdate(update))?;
        made.push((id, article));
    }
    Ok(made)
}

/// Brings a package to the host; none where it is only shown, and not known.
fn bring(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    inputs: &Inputs,
    id: &str,
    file: &str,
) -> Result<Option<String>, PlanError> {
    let Some(blob) = inputs.updates.get(file) else {
        if inputs.open_programs {
            return Ok(None);
        }
        return Err(PlanError::NoUpdate(file.to_owned()));
    };
    let places = kubelet.places;
    let folder = places.below(&places.programs, &["updates"]);
    let place = places.below(&folder, &[name(file)]);
    let artifact = Artifact {
        sha256: blob.sha256,
        size: blob.size,
        format: ArtifactFormat::Plain,
        destination: path(&place)?,
        members: Vec::new(),
        access: Default::default(),
    };
    let id = format!("bin-{id}");
    steps.add(&id, &["dir-base"], Resource::Artifact(artifact))?;
    Ok(Some(place))
}

fn name(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// Packages carry their article in their names
/// (`windows10.0-kb5012637-x64.msu`); another one is known by its name.
fn article(file: &str) -> String {
    let name = name(file).to_ascii_lowercase();
    let stem = name.trim_end_matches(".msu");
    let mut parts = stem.split(['-', '_', '.']);
    let number = parts.find_map(|part| {
        let digits = part.strip_prefix("kb")?;
        let all = digits.len() >= 6 && digits.chars().all(|it| it.is_ascii_digit());
        all.then_some(digits)
    });
    number.map_or_else(|| stem.to_owned(), |digits| format!("KB{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_article_has_a_floor_for_each_build_that_it_is_for() {
        let floor = |build, revision| UpdateFloor { build, revision };
        assert_eq!(floors("KB5012637"), [floor(20348, 681)]);
        assert_eq!(floors("KB5044281"), [floor(20348, 2762)]);
        assert_eq!(floors("KB1"), []);
    }

    #[test]
    fn a_package_is_known_by_its_article() {
        assert_eq!(article("./a/windows10.0-kb5012637-x64.msu"), "KB5012637");
        assert_eq!(
            article(r"C:\a\Windows10.0-KB5012637-x64_1.msu"),
            "KB5012637"
        );
        assert_eq!(article("own.msu"), "own");
    }
}
